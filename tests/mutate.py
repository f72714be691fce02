#!/usr/bin/env python3
"""mutate.py MODULE [--mutants 200] [--seed N] [--seconds S]: how many small faults in include/mdstream/MODULE its tests do not notice.

Draws lines of the module and puts a fault into each: another comparison, operator or number, a condition turned round, a call or
assignment left out. All go into one program of the module's tests, where the environment variable MUTANT switches one of them on, in the
processes that it starts as well. Every case runs once without a fault, to see which faults it comes by; then, for each fault, those cases run
one after the other, the quickest first, until one fails. Faults that no test notices are printed; look at each: either the code means the
same, or a test is missing. Works in build/mutate. MODULE: order, format or cache.
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent
libraries = {"order": [], "format": [], "cache": ["-lzstd", "-lxxhash"]}

head = """#pragma once
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <type_traits>
namespace mutants {
inline const int active = std::getenv("MUTANT") ? std::atoi(std::getenv("MUTANT")) : -1;
// A byte for each fault that a test came by, in a file that all processes of the test share.
inline unsigned char* const reached = [] {
  const char* const path = std::getenv("MUTANTS_REACHED");
  const int file = path ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
  void* const bytes = ::mmap(nullptr, %d, PROT_READ | PROT_WRITE, MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
  return bytes == MAP_FAILED ? nullptr : static_cast<unsigned char*>(bytes);
}();
constexpr bool is(int n) {
  if (std::is_constant_evaluated()) return false;
  if (reached) reached[n] = 1;
  return active == n;
}
}
"""

swaps = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
         (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "), (" * ", " + "), (" / ", " * "), (" % ", " + "),
         (" << ", " >> "), (" >> ", " << "), (" & ", " | "), (" | ", " & "), (" ^ ", " | "), ("std::min(", "std::max("),
         ("std::max(", "std::min("), ("true", "false"), ("false", "true")]


def masked(text):
    """The same with what is in quotation marks blanked."""
    return re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'', lambda m: "~" * len(m.group()), text)


def faulty(expression):
    """Yields what an expression becomes with one fault in it."""
    plain = masked(expression)
    for old, new in swaps:
        for found in re.finditer(re.escape(old), plain):
            yield expression[:found.start()] + new + expression[found.end():]
    for found in re.finditer(r"(?<![\w.'])\d+(?![\w.'])", plain):
        yield expression[:found.start()] + str(int(found.group()) + 1) + expression[found.end():]


def balanced(text):
    return all(masked(text).count(a) == masked(text).count(b) for a, b in ("()", "{}", "[]"))


condition = re.compile(r"^(\s*(?:\} else )?(?:if|while) \()(.*)(\)(?: \{| [^(){}]*;| return .*;| continue;| break;)?)$")
value = re.compile(r"^(\s*(?:return|(?:const )?[\w:<>,*& ]+ [&*]?\w+ =|[\w.\->\[\]]+ (?:[-+*/%&|^]|<<|>>)?=) )([^={}][^{}]*)(;)$")
statement = re.compile(r"^(\s*)((?:\+\+|--)?[\w.\->:\[\]]+(?:\(.*\)|(?:\+\+|--)| (?:[-+*/%&|^]|<<|>>)?= .*)?;)$")
keywords = re.compile(r"^\s*(return|break|continue|using|throw|public|private|protected|friend|default|static_assert|assert)\b")


def faults(line):
    """Yields the line, and what to print of it, with one fault that `mutants::is(N)` switches on."""
    if "//" in masked(line) or not balanced(line.replace("{", "").replace("}", "")) or "constexpr" in line or "[" in line and "](" in line:
        return
    if match := condition.match(line):
        before, expression, after = match.groups()
        if ";" not in expression and not re.search(r"[^=!<>]=[^=]", masked(expression)) and balanced(expression):
            yield f"{before}mutants::is(N) ? !({expression}) : static_cast<bool>({expression}){after}", f"{before}!({expression}){after}"
            for new in faulty(expression):
                yield f"{before}mutants::is(N) ? static_cast<bool>({new}) : static_cast<bool>({expression}){after}", before + new + after
        return
    if re.match(r"\s+[\w:<>,*& ]+ \w+_ = [\w']+;$", line):  # what a member begins with is mostly set anew
        return
    if re.search(r"\b(reserve|shrink\w*)\(", line):  # costs more or less, and means the same
        return
    if match := value.match(line):
        before, expression, after = match.groups()
        for new in faulty(expression):
            yield f"{before}mutants::is(N) ? ({new}) : ({expression}){after}", before + new + after
    if (match := statement.match(line)) and not keywords.match(line) and balanced(line) and not line.lstrip().startswith("."):
        indent, text = match.groups()
        if re.search(r"\(|=|\+\+|--", text):
            yield f"{indent}{{ if (!mutants::is(N)) {text} }}", f"{indent}/* left out: {text} */"


def sources(module):
    return sorted(p for p in (root / "include" / "mdstream" / module).rglob("*") if p.suffix in (".hpp", ".ipp"))


def draw(module, count, rng):
    """[(file, line number, its faulty form, what to print)], one for each line."""
    all_lines = []
    for path in sources(module):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            forms = list(faults(line))
            if forms:
                all_lines.append((path.relative_to(root / "include"), number, *rng.choice(forms)))
    rng.shuffle(all_lines)
    return all_lines[:count]


class Program:
    def __init__(self, module, mutants):
        self.module, self.mutants = module, dict(enumerate(mutants))
        self.work = root / "build" / "mutate" / module
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(root / "include", self.work / "include")
        (self.work / "mutants.hpp").write_text(head % len(mutants))
        tests = sorted((root / "tests" / module).glob("*_test.cpp"))
        (self.work / "tests.cpp").write_text("".join(f'#include "{path}"\n' for path in tests))
        self.flags = ["g++", "-std=c++20", "-w", "-O1", "-DASIO_STANDALONE", f'-DMDSTREAM_TEST_DATA="{root}/tests"',
                      f'-DMDSTREAM_CACHE_WORKER="{self.work}/worker"', f"-I{self.work}/include", f"-I{root}/tests", "-include", f"{self.work}/mutants.hpp"]

    def write(self):
        for path in {mutant[0] for mutant in self.mutants.values()}:
            lines = (root / "include" / path).read_text(encoding="utf-8").splitlines()
            for n, (of, number, form, _) in self.mutants.items():
                if of == path:
                    lines[number] = form.replace("mutants::is(N)", f"mutants::is({n})")
            (self.work / "include" / path).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def drop_those_that_do_not_compile(self):
        for _ in range(20):
            self.write()
            done = subprocess.run([*self.flags, "-fsyntax-only", "-fmax-errors=0", self.work / "tests.cpp"], capture_output=True, text=True)
            if done.returncode == 0:
                return
            wrong = set()
            for file, number in re.findall(r"^(?:In file included from )?(\S+?):(\d+):\d+: +(?:error|required)", done.stderr, re.M):
                wrong |= {n for n, m in self.mutants.items() if file.endswith(str(m[0])) and int(number) == m[1] + 1}
            if not wrong:
                raise SystemExit(f"mutate.py: does not compile, and not for a fault:\n{done.stderr[:3000]}")
            for n in wrong:
                self.mutants[n] = None
            self.mutants = {n: m for n, m in self.mutants.items() if m}
            shutil.copytree(root / "include", self.work / "include", dirs_exist_ok=True)
        raise SystemExit("mutate.py: too many faults that do not compile")

    def build(self):
        objects = []
        for source, more in ((self.work / "tests.cpp", []), (root / "tests" / "support" / "main.cpp", ["-O0"])):
            objects.append(self.work / f"{source.stem}.o")
            subprocess.run([*self.flags, *more, "-c", source, "-o", objects[-1]], check=True)
        subprocess.run(["g++", *objects, "-o", self.work / "tests", *libraries[self.module], "-lpthread"], check=True)
        worker = root / "tests" / self.module / "worker.cpp"
        if worker.exists():
            subprocess.run([*self.flags, worker, "-o", self.work / "worker", *libraries[self.module], "-lpthread"], check=True)

    def cases(self):
        names = subprocess.run([self.work / "tests", "--list-test-names-only"], capture_output=True, text=True).stdout.splitlines()
        return [Case(name) for name in names if not name.startswith("MDSTREAM_TEST_SEED=")]

    def run(self, case, mutant, limit, reached=None):
        """Whether the case passes."""
        environment = {**os.environ, "MUTANT": str(mutant), "MDSTREAM_TEST_SEED": "1"}
        if reached:
            environment["MUTANTS_REACHED"] = str(reached)
        process = subprocess.Popen([self.work / "tests", re.sub(r'([\\,"\[\]*])', r"\\\1", case.name), "--abort"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, cwd=self.work, env=environment, start_new_session=True)
        try:
            return process.wait(limit) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)  # its children as well
            process.wait()
            return False

    def look(self, case):
        """Runs the case without a fault, and keeps how long it takes and which faults it comes by."""
        with tempfile.NamedTemporaryFile(dir=self.work) as reached:
            reached.truncate(max(self.mutants) + 1)
            began = time.monotonic()
            if not self.run(case, -1, 3600, reached.name):
                raise SystemExit(f"mutate.py: fails without any fault: {case.name}")
            case.seconds = time.monotonic() - began
            case.reaches = {n for n, byte in enumerate(reached.read()) if byte}


class Case:
    def __init__(self, name):
        self.name, self.seconds, self.reaches = name, 0.0, set()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("module", choices=sorted(libraries))
    arguments.add_argument("--mutants", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--seconds", type=int, default=10**6, help="begin no further one after so long")
    arguments.add_argument("--quick", type=float, default=10**6, help="leave out cases that take longer, in seconds")
    args = arguments.parse_args()
    program = Program(args.module, draw(args.module, args.mutants, random.Random(args.seed)))
    program.drop_those_that_do_not_compile()
    program.build()
    began = time.monotonic()
    all_cases = program.cases()
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("MDSTREAM_JOBS", os.cpu_count()))) as pool:
        list(pool.map(program.look, all_cases))
        cases = sorted((case for case in all_cases if case.seconds <= args.quick), key=lambda case: case.seconds)
        reached = set().union(*(case.reaches for case in all_cases))

        def passes(n):
            for case in cases:
                if n not in case.reaches:
                    continue
                if time.monotonic() - began > args.seconds:
                    return None
                if not program.run(case, n, 10 + 10 * case.seconds):  # what hangs is noticed, too
                    return False
            return True

        results = dict(zip(program.mutants, pool.map(passes, program.mutants)))
    ran = [n for n, passed in results.items() if passed is not None]
    survivors = sorted((n for n in ran if results[n]), key=lambda n: program.mutants[n][:2])
    for n in survivors:
        path, number, _, shown = program.mutants[n]
        why = "" if n in reached else "  (no test comes by)"
        print(f"{path}:{number + 1}:{why}\n  - {(root / 'include' / path).read_text().splitlines()[number].strip()}\n  + {shown.strip()}")
    for case in all_cases:
        if case not in cases:
            print(f"left out, {case.seconds:.0f} s: {case.name}")
    print(f"{args.module}, seed {args.seed}: {len(ran)} faults, {len(ran) - len(survivors)} noticed, {len(survivors)} not, "
          f"of which {sum(n not in reached for n in survivors)} where no test comes by")


if __name__ == "__main__":
    main()
