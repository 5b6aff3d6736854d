def connection():
    """The socket to the examiner, found among the descriptors."""
    for number in range(3, 64):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                return number
    raise OSError("there is no socket")


def write(body, size=None):
    data = struct.pack(">I", len(body) if size is None else size) + body
    while data:
        data = data[os.write(connection(), data) :]
