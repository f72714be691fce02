# shellcheck shell=bash
# Sourced: free_ports N prints ports of 127.0.0.1 outside the kernel's ephemeral range, from which other programs get theirs: until a server
# listens on a port, another program may take it.
free_ports() {
  python3 -c 'import random, socket, sys
found = []
while len(found) < int(sys.argv[1]):
    try:
        found.append(socket.create_server(("127.0.0.1", random.randrange(10_000, 32_000))))
    except OSError:
        pass
print(*[each.getsockname()[1] for each in found])' "$1"
}
