#!/usr/bin/env python3
"""sftp_test.py MDSTREAM, under tests/servers/with.sh sshd: keys with a passphrase and keys of an agent, and what is said where
a passphrase is missing or wrong, where the server takes no key, and where it does not rename; the password of a URL. No output may
hold a passphrase or a password."""
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from tool import Tool

tool = Tool(sys.argv[1], "hush")
base_url = os.environ["MDSTREAM_TEST_URL"] + "/keys"
plain_key = pathlib.Path(os.environ["COMPOSER_SFTP_KEY_FILE"])
plain = {"PATH": os.environ["PATH"], "HOME": "/nonexistent",
         "COMPOSER_SFTP_KNOWN_HOSTS_FILE": os.environ["COMPOSER_SFTP_KNOWN_HOSTS_FILE"]}

with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    (work / "object").write_bytes(b"an object")
    by_plain = plain | {"COMPOSER_SFTP_KEY_FILE": str(plain_key)}
    tool.said("copy", work / "object", f"{base_url}/object", **by_plain)

    def fetched(status=0, **variables):
        return tool.fetched(f"{base_url}/object", work / "fetched", b"an object", status, **plain | variables)

    # OpenSSH's own form of a key, and the older one. libssh2 reads no encrypted ed25519 key of another form.
    key = work / "key"
    shutil.copy(plain_key, key)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "hush-right", "-f", key], check=True)
    by_key = {"COMPOSER_SFTP_KEY_FILE": str(key)}
    fetched(**by_key, COMPOSER_SFTP_KEY_PASSPHRASE="hush-right")
    said = fetched(status=1, **by_key, COMPOSER_SFTP_KEY_PASSPHRASE="hush-wrong")
    assert "passphrase" in said and str(key) in said, said
    said = fetched(status=1, **by_key)
    assert "encrypted" in said and "COMPOSER_SFTP_KEY_PASSPHRASE" in said and "ssh-add" in said, said

    # A key that the server does not know.
    other = work / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    said = fetched(status=1, COMPOSER_SFTP_KEY_FILE=str(other))
    assert f"does not take the key {other}" in said, said

    # A server that lets this key remove an object, but not put the new one in its place: the error names the file that has the new one.
    with open(plain_key.with_name("authorized_keys"), "a") as known:
        known.write('command="internal-sftp -P rename" ' + other.with_suffix(".pub").read_text())
    (work / "newer").write_bytes(b"a newer object")
    tool.said("copy", work / "object", f"{base_url}/replaced", **by_plain)
    said = tool.said("copy", work / "newer", f"{base_url}/replaced", status=1, **plain | {"COMPOSER_SFTP_KEY_FILE": str(other)})
    assert "an object that it was to replace is gone, and this file has the new one" in said, said
    left = re.search(r"/(\.mdstream-\w+\.tmp)\)", said)
    tool.fetched(f"{base_url}/{left[1]}", work / "fetched", b"a newer object", **by_plain)
    tool.said("copy", f"{base_url}/replaced", work / "fetched", status=1, **by_plain)

    # The agent, which has the key; and none.
    agent_socket = work / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", agent_socket], stdout=subprocess.DEVNULL)
    try:
        while not agent_socket.exists():
            assert agent.poll() is None
        by_agent = {"SSH_AUTH_SOCK": str(agent_socket)}
        said = fetched(status=1, **by_agent)
        assert "SSH agent" in said, said
        subprocess.run(["ssh-add", "-q", plain_key], env=plain | by_agent, check=True)
        fetched(**by_agent)
    finally:
        agent.kill()
        agent.wait()
    said = fetched(status=1)
    assert "SSH_AUTH_SOCK" in said, said

    # The password of the URL, with an sshd that sees a file of passwords of its own; only root can have that.
    if os.geteuid() == 0:
        password = "hush:a/word"
        hashed = subprocess.run(["openssl", "passwd", "-6", "-stdin"], input=password, check=True, capture_output=True, text=True)
        (work / "shadow").write_text(f"root:{hashed.stdout.strip()}:19000:0:99999:7:::\n")
        config = plain_key.with_name("sshd_config").read_text()
        for setting in ("PasswordAuthentication", "PermitRootLogin"):
            config = re.sub(f"^{setting} .*$", f"{setting} yes", config, flags=re.M)
        own_passwords = 'mount --bind "$1" /etc/shadow && exec "$2" -D -e -f "$3"'
        program = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
        log = work / "sshd_log"
        for _ in range(5):  # a port may be another's
            port = random.randrange(10_000, 32_000)
            (work / "sshd_config").write_text(re.sub("^Port .*$", f"Port {port}", config, flags=re.M))
            with log.open("w") as said_by_sshd:
                sshd = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "sh", "-c", own_passwords, "sh",
                                         work / "shadow", program, work / "sshd_config"], stderr=said_by_sshd)
            while sshd.poll() is None and "Server listening" not in log.read_text():
                time.sleep(.01)
            if sshd.poll() is None:
                break
        else:
            sys.exit(f"sshd listens nowhere: {log.read_text()}")
        try:
            (work / "known_hosts").write_text(pathlib.Path(plain["COMPOSER_SFTP_KNOWN_HOSTS_FILE"]).read_text().replace(
                re.search(r":(\d+)/", base_url)[1], str(port)))
            path = base_url.split("/", 3)[3]
            variables = plain | {"COMPOSER_SFTP_KNOWN_HOSTS_FILE": str(work / "known_hosts")}
            tool.fetched(f"sftp://root:hush%3Aa%2Fword@127.0.0.1:{port}/{path}/object", work / "fetched", b"an object", **variables)
            said = tool.fetched(f"sftp://root:hush-wrong@127.0.0.1:{port}/{path}/object", work / "fetched", b"", 1, **variables)
            assert "does not take the password of the URL" in said, said
        finally:
            sshd.kill()
            sshd.wait()
