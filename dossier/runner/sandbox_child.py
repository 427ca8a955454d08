"""Inside the sandbox: give up what can be given up, run the answer's code, then its tests. Runs as a file, alone.

Standard input holds one JSON object: `code`, `tests`, `nonce`. Standard output is one line that says what was cut
off (`net`, `processes`, `limits`), then whatever the code prints, and the nonce at the end if every test held.
"""

import ctypes
import json
import os
import resource
import signal
import sys

_NEWUSER, _NEWNET, _NEWPID = 0x10000000, 0x40000000, 0x20000000
_DEATH_SIGNAL, _NO_NEW_PRIVS = 1, 38


def _cut_off(seconds: int, megabytes: int) -> list[str]:
    held = []
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEWUSER | _NEWNET | _NEWPID) == 0:
        held += ["net", "processes"]
        _first_of_its_world(libc)
    elif libc.unshare(_NEWUSER | _NEWNET) == 0:
        held.append("net")
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    limits = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: megabytes << 20,
        resource.RLIMIT_FSIZE: 1 << 20,
        resource.RLIMIT_NOFILE: 32,
        resource.RLIMIT_CORE: 0,
    }
    for name, limit in limits.items():
        resource.setrlimit(name, (limit, limit))
    held.append("limits")
    return held


def _first_of_its_world(libc: ctypes.CDLL) -> None:
    """Go on as the first process of the new namespace: when it ends, the system ends all that it left behind."""
    child = os.fork()
    if child:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(code if code >= 0 else 128 - code)
    libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def main() -> None:
    """Read, cut off, run, and say the nonce."""
    told = json.load(sys.stdin)
    held = _cut_off(int(sys.argv[1]), int(sys.argv[2]))
    os.write(1, (json.dumps(held) + "\n").encode())
    space = {"__name__": "answer"}
    exec(compile(told["code"], "answer", "exec"), space)  # noqa: S102 - the point of the sandbox
    exec(compile(told["tests"], "tests", "exec"), space)  # noqa: S102
    sys.stdout.flush()
    os.write(1, ("\n" + told["nonce"] + "\n").encode())


main()
