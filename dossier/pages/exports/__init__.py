"""What the site offers to programs: records as JSON, feeds, and a description of both."""
