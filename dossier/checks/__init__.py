"""The checks, a family a module: each rule one small function; see `registry`."""
