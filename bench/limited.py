"""A verb in a process that may not have more address space: python -m bench.limited MIB VERB ...

Its peak of resident memory is the last line on stdout. The kernel's own account of an ended
process would count its parent's pages too, which it had before it became the verb.
"""

import os
import resource
import sys
from collections.abc import Sequence

from bench.processes import peak_mib
from commonhold.cli import shell


def main(arguments: Sequence[str]) -> int:
    limit = int(arguments[0]) * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    status = shell.main(list(arguments[1:]))
    print(f"\n{peak_mib(os.getpid()):.1f}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
