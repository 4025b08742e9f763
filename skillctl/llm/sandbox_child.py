"""The inside of the sandbox: gives up every power that code does not need, then runs the code.

It is started by path with ``python -I -S`` and imports the standard library alone. Argument: a JSON object with the
limits; standard input: the code. It says on a pipe what it could contain before the code starts.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import struct
import sys
import sysconfig
from typing import Any

REFUSED = 97  # exit code: a measure that is asked for is not to be had, and the code was not run
SIGNALLED = 128  # plus the number of the signal that ended the code

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (
    0x0002_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000,
)  # fmt: skip
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 2, 4, 0x4000, 0x4_0000
_ATTR_RDONLY, _AT_RECURSIVE, _AT_FDCWD = 1, 0x8000, -100
_PDEATHSIG, _SECCOMP, _CAPBSET_DROP, _NO_NEW_PRIVS = 1, 22, 24, 38
_SIGKILL = 9
# System calls with the same number on all newer architectures.
_MOUNT_SETATTR, _LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 442, 444, 445, 446

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> int:
    """Contain this process, say how far that went, and run the code."""
    config = json.loads(sys.argv[1])
    code = sys.stdin.buffer.read()
    contained = {"time"} | _limit(config)
    if sys.platform == "linux":
        status = _leave_the_machine(config, contained)
        if status is not None:
            return status
    os.chdir(config["folder"])
    missing = sorted(set(config["required"]) - contained)
    os.write(config["status_fd"], json.dumps({"missing": missing, "contained": sorted(contained)}).encode())
    os.close(config["status_fd"])
    return REFUSED if missing else _run(code)


def _leave_the_machine(config: dict[str, Any], contained: set[str]) -> int | None:
    """Add to ``contained`` what could be contained; return a status in the process that only waits for the other."""
    _libc.prctl(_PDEATHSIG, _SIGKILL)
    if _enter_namespaces():
        status = _become_first_process(config["status_fd"])
        if status is not None:
            return status
        contained.add("network")
        if _lock_mounts(config["folder"], config["disk_mb"]):
            contained.add("files")
    os.chdir(config["folder"])
    # Without a small file system of its own, many small files could fill the disk: then nothing is written at all.
    if _restrict_paths(config["folder"], rights=_READ | _WRITE if "files" in contained else _READ):
        contained.add("files")
    _drop_powers()
    if _filter_calls():
        contained |= {"network", "processes"}
    elif os.getuid() != 0:  # root is not bound by it
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        contained.add("processes")
    return None


def _run(code: bytes) -> int:
    """Run the code as a program; an uncaught exception prints its traceback, without our own frames."""
    import traceback

    try:
        exec(compile(code, "<code>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})  # noqa: S102
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is its result
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, trace)
        return 1
    return 0


# --- namespaces: no network, no view of other processes, nothing to write on ---


def _enter_namespaces() -> bool:
    spaces = _NEWNS | _NEWNET | _NEWPID | _NEWIPC | _NEWUTS
    if os.getuid() == 0 and _libc.unshare(spaces) == 0:
        return True
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(spaces | _NEWUSER) != 0:
        return False
    try:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - fewer imports inside
                file.write(text)
    except OSError:
        return False
    return True


def _become_first_process(status_fd: int) -> int | None:
    """Fork into the new process space; its end is the end of everything in it. Return a status in the parent alone."""
    child = os.fork()
    if child == 0:
        _libc.prctl(_PDEATHSIG, _SIGKILL)
        return None
    os.close(status_fd)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else SIGNALLED - code


def _lock_mounts(folder: str, disk_mb: int) -> bool:
    """Make every mount read-only, and the folder a small file system in memory."""
    target = folder.encode()
    options = f"size={disk_mb}m,mode=0700".encode()
    return (
        _libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) == 0
        and _libc.mount(b"tmpfs", target, b"tmpfs", _MS_NOSUID | _MS_NODEV, options) == 0
        and _set_attributes(b"/", _AT_RECURSIVE, set_flags=_ATTR_RDONLY)
        and _set_attributes(target, 0, clear_flags=_ATTR_RDONLY)
    )


def _set_attributes(path: bytes, flags: int, *, set_flags: int = 0, clear_flags: int = 0) -> bool:
    attributes = struct.pack("QQQQ", set_flags, clear_flags, 0, 0)
    return bool(_libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path, flags, attributes, len(attributes)) == 0)


# --- limits of the process ---


def _limit(config: dict[str, Any]) -> set[str]:
    limits = [
        (resource.RLIMIT_CPU, config["cpu_s"]),
        (resource.RLIMIT_FSIZE, config["disk_mb"] << 20),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, config["memory_mb"] << 20),
    ]
    contained = {"output"}
    for kind, value in limits:
        resource.setrlimit(kind, (value, value))
    if sys.platform == "linux":  # elsewhere the limit is taken and not kept
        contained.add("memory")
    return contained


def _drop_powers() -> None:
    """Give up all capabilities for good."""
    for capability in range(64):
        _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    header = struct.pack("II", 0x2008_0522, 0)  # version 3, this process
    _libc.capset(header, bytes(24))
    _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)


# --- Landlock: which paths can be read and written, without any power ---

_READ = 0b1101  # execute, read a file, read a folder
_WRITE = 0b1_1111_1111_0010 | (1 << 13) | (1 << 14)  # write, remove, make, refer, truncate


def _restrict_paths(folder: str, *, rights: int) -> bool:
    version = _libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if version < 3:  # noqa: PLR2004 - before it, files outside could be truncated
        return False
    _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    everything = struct.pack("Q", _READ | _WRITE)
    rules = _libc.syscall(_LANDLOCK_CREATE, everything, len(everything), 0)
    if rules < 0:
        return False
    paths = sysconfig.get_paths()
    readable = {paths["stdlib"], paths["platstdlib"], "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/lib", "/lib64"}
    files = {"/dev/null", "/dev/zero", "/dev/urandom", "/etc/localtime", "/etc/ld.so.cache"}
    added = _allow(rules, folder, rights)
    for path in readable | files:
        # What this machine does not have needs no rule; a file takes only rights of files.
        _allow(rules, path, 0b101 if os.path.isfile(path) or path.startswith("/dev/") else _READ)  # noqa: PTH113
    _allow(rules, "/dev/null", 0b110)
    done = added and _libc.syscall(_LANDLOCK_RESTRICT, rules, 0) == 0
    os.close(rules)
    return done


def _allow(rules: int, path: str, rights: int) -> bool:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    rule = struct.pack("=Qi", rights, handle)
    done = _libc.syscall(_LANDLOCK_ADD, rules, 1, rule, 0) == 0
    os.close(handle)
    return bool(done)


# --- seccomp: system calls that code has no use for ---

# In this order, -1 where the architecture has no such call:
#   socket execve execveat kill tkill rt_sigqueueinfo rt_tgsigqueueinfo ptrace process_vm_readv process_vm_writev
#   pidfd_open pidfd_send_signal pidfd_getfd mount umount2 pivot_root chroot unshare setns move_mount open_tree
#   fsopen fsconfig fsmount fspick mount_setattr bpf perf_event_open userfaultfd io_uring_setup io_uring_enter
#   io_uring_register add_key request_key keyctl init_module finit_module delete_module kexec_load kexec_file_load
#   reboot swapon swapoff acct quotactl personality settimeofday clock_settime adjtimex clock_adjtime sethostname
#   setdomainname open_by_handle_at shmget semget msgget fork vfork chmod fchmod fchmodat fchmodat2 chown lchown
#   fchown fchownat utime utimes futimesat utimensat setxattr lsetxattr fsetxattr removexattr lremovexattr
#   fremovexattr iopl ioperm
_X86_64 = (
    41, 59, 322, 62, 200, 129, 297, 101, 310, 311, 434, 424, 438, 165, 166, 155, 161, 272, 308, 429, 428, 430, 431,
    432, 433, 442, 321, 298, 323, 425, 426, 427, 248, 249, 250, 175, 313, 176, 246, 320, 169, 167, 168, 163, 179, 135,
    164, 227, 159, 305, 170, 171, 304, 29, 64, 68, 57, 58, 90, 91, 268, 452, 92, 94, 93, 260, 132, 235, 261, 280, 188,
    189, 190, 197, 198, 199, 172, 173,
)  # fmt: skip
_AARCH64 = (
    198, 221, 281, 129, 130, 138, 240, 117, 270, 271, 434, 424, 438, 40, 39, 41, 51, 97, 268, 429, 428, 430, 431, 432,
    433, 442, 280, 241, 282, 425, 426, 427, 217, 218, 219, 105, 273, 106, 104, 294, 142, 224, 225, 89, 60, 92, 170,
    112, 171, 266, 161, 162, 265, 194, 190, 186, -1, -1, -1, 52, 53, 452, -1, -1, 55, 54, -1, -1, -1, 88, 5, 6, 7, 14,
    15, 16, -1, -1,
)  # fmt: skip
_CLONE3 = 435
# By machine: audit number, the calls above, clone, tgkill.
_MACHINES = {
    "x86_64": (0xC000_003E, _X86_64, 56, 234),
    "aarch64": (0xC000_00B7, _AARCH64, 220, 131),
}
_CLONE_THREAD = 0x0001_0000
_X32 = 0x4000_0000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_EPERM, _ENOSYS = 1, 38
_NR, _ARCH, _ARG0 = 0, 4, 16  # places in struct seccomp_data


def _filter_calls() -> bool:
    """Deny what reaches beyond the process, new processes among it; threads are allowed."""
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        return False
    audit, denied, clone, tgkill = machine
    program = [
        (_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NR), (_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _ERRNO | _EPERM),
    ]  # fmt: skip
    for number in denied:
        if number >= 0:
            program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    program += [
        (_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ERRNO | _ENOSYS),  # so that libc falls back to clone
        (_EQUAL, 0, 4, clone), (_LOAD, 0, 0, _ARG0), (_ANY_BIT, 0, 1, _CLONE_THREAD), (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_EQUAL, 0, 3, tgkill), (_LOAD, 0, 0, _ARG0), (_EQUAL, 1, 0, os.getpid()), (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]  # fmt: skip
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    header = struct.pack("@HP", len(program), ctypes.addressof(code))
    return bool(_libc.prctl(_SECCOMP, 2, header, 0, 0) == 0)


if __name__ == "__main__":
    sys.exit(main())
