"""The command line tool as the tests of clouds run it: everything that it prints must be without secrets."""
import json
import os
import subprocess


class Tool:
    def __init__(self, program, *secrets):
        self.program, self.secrets = program, secrets

    def run(self, *words, env, stdin="", status=0):
        """The ended process, which has to have this exit status."""
        done = subprocess.run([self.program, *map(str, words)], input=stdin, text=True, capture_output=True, env=env, timeout=120)
        said = done.stdout + done.stderr
        assert done.returncode == status, (words, done.returncode, said)
        assert not any(secret in said for secret in self.secrets), said
        return done

    def said(self, *words, status=0, **variables):
        """What it prints with these variables alone."""
        done = self.run(*words, status=status, env=variables)
        return done.stdout + done.stderr

    def output(self, *words, stdin="", status=0, **variables):
        """What it prints with the variables of this process and these: its results or its errors."""
        done = self.run(*words, status=status, stdin=stdin, env=os.environ | variables)
        return done.stderr if status else done.stdout

    def fetched(self, url, into, content, status=0, **variables):
        """As `said`, for a copy that has to have this content."""
        into.unlink(missing_ok=True)
        said = self.said("copy", url, into, status=status, **variables)
        assert status or into.read_bytes() == content
        return said

    def copy_many(self, work, remote, **variables):
        """Sixty objects there and back, as `said`."""
        (work / "many").mkdir()
        for i in range(60):
            (work / "many" / str(i)).write_bytes(b"one of many")
        self.said("copy", "--jobs", 4, work / "many", f"{remote}/many", **variables)
        self.said("copy", "--jobs", 4, f"{remote}/many", work / "back", **variables)
        assert len(list((work / "back").iterdir())) == 60

    def digests(self, work, remote, cache, *words):
        """Of the batches of a dataset, streamed through the cache work/cache."""
        config = work / "config.json"
        config.write_text(json.dumps({"streams": [{"remote": str(remote), "local": str(work / cache)}], "batch_size": 4,
                                      "shuffle": True, "shuffle_seed": 7, "cache_limit": "1mb", "download_retry": 4}))
        lines = map(json.loads, self.output("stream", "--config", config, "--digest", *words).splitlines())
        return [line["digest"] for line in lines if "digest" in line]
