#!/usr/bin/env python3
"""templates_test.py TEMPLATE LAUNCH: whether a template of examples/cluster starts a trainer again when it should.

TEMPLATE is jobset.yaml, which needs PyYAML, or aws-batch.json; LAUNCH the folder of the headers that it has to agree with.
"""
import fnmatch
import json
import pathlib
import re
import sys

template, launch = map(pathlib.Path, sys.argv[1:])


def check(is_so, what):
    if not is_so:
        sys.exit(f"{template}: {what}")


def number_in(header, pattern):
    """What a header of the library has."""
    return int(re.search(pattern, (launch / header).read_text(encoding="utf-8"))[1])


requeue = number_in("stop_request.hpp", r"requeue_status = (\d+);")
hung = number_in("watchdog.hpp", r"hung_status = (\d+);")


def check_cache(command, mounts, volumes):
    """The trainer's cache lies in a volume that the template has."""
    path = command[command.index("--cache") + 1]
    check(mounts.get(path) in volumes, f"no volume is mounted at the trainer's cache {path}")


def check_aws_batch(job):
    retry = job["retryStrategy"]
    check(1 <= retry["attempts"] <= 10, "Batch takes 1 to 10 attempts")
    check(len(retry["evaluateOnExit"]) <= 5, "Batch takes 5 conditions")
    check(job["type"] == "container", "the docs say that it is a job of one container")

    def action(**ended):
        """Of the first rule of which all conditions are met."""
        for rule in retry["evaluateOnExit"]:
            conditions = {name: pattern for name, pattern in rule.items() if name != "action"}
            if all(fnmatch.fnmatchcase(ended.get(name, "").lower(), pattern.lower()) for name, pattern in conditions.items()):
                return rule["action"]
        return "RETRY"

    exited = "Essential container in task exited"
    check(action(onExitCode=str(requeue), onStatusReason=exited) == "RETRY", "an end that was asked for does not start it again")
    check(action(onExitCode=str(hung), onStatusReason=exited) == "RETRY", "a rank that hung does not start it again")
    check(action(onStatusReason="Host EC2 (instance i-0123456789abcdef0) terminated.") == "RETRY", "a lost host does not start it again")
    check(action(onExitCode="1", onStatusReason=exited) == "EXIT", "other failures start it again")
    what = job["containerProperties"]
    check_cache(what["command"], {each["containerPath"]: each["sourceVolume"] for each in what["mountPoints"]},
                [each["name"] for each in what["volumes"]])


def gibibytes(text):
    return int(re.fullmatch(r"(\d+)Gi", text)[1])


def check_jobset(jobset, text):
    check((jobset["apiVersion"], jobset["kind"]) == ("jobset.x-k8s.io/v1alpha2", "JobSet"), "is no JobSet")
    policy = jobset["spec"]["failurePolicy"]
    check(policy["maxRestarts"] > 0, "failures do not start it again")
    check({"action": "RestartJobSetAndIgnoreMaxRestarts", "onJobFailureReasons": ["PodFailurePolicy"]} in policy["rules"],
          "ends that were asked for are counted as failures")
    (ranks,) = jobset["spec"]["replicatedJobs"]
    check(ranks["replicas"] == 1, "several Jobs have the same ranks")
    job = ranks["template"]["spec"]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    variables = {each["name"]: each for each in container["env"]}
    check(job["completionMode"] == "Indexed", "pods have no rank")
    check(str(job["parallelism"]) == str(job["completions"]) == variables["WORLD_SIZE"]["value"], "the numbers of ranks differ")
    check((job["backoffLimit"], pod["restartPolicy"]) == (0, "Never"), "a pod is started again without the others")
    rules = job["podFailurePolicy"]["rules"]
    check(all(rule["action"] == "FailJob" for rule in rules), "a pod is started again without the others")
    (codes,) = (rule["onExitCodes"] for rule in rules if "onExitCodes" in rule)
    check(codes == {"containerName": container["name"], "operator": "In", "values": [requeue]}, f"not {requeue} alone is an end that was asked for")
    check(any({"type": "DisruptionTarget"} in rule.get("onPodConditions", []) for rule in rules), "an evicted pod is counted as a failure")
    check(variables["JOB_UID"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['batch.kubernetes.io/controller-uid']",
          "ranks have no token of the start")
    grace = pod["terminationGracePeriodSeconds"]
    check(grace >= number_in("stop_request.hpp", r"\{SIGTERM, std::chrono::seconds\((\d+)\)\}"), "a pod is killed before stop_request says")
    check(re.findall(r"\{\{SIGTERM, (\d+)s\}\}", text) == [str(grace)], "its comment names another time to save than the pod has")
    volumes = {each["name"]: each for each in pod["volumes"]}
    check_cache(container["command"], {each["mountPath"]: each["name"] for each in container["volumeMounts"]}, volumes)
    check(gibibytes(container["resources"]["requests"]["ephemeral-storage"]) > gibibytes(volumes["cache"]["emptyDir"]["sizeLimit"]),
          "the cache may take more than the pod asks for")


text = template.read_text(encoding="utf-8")
if template.suffix == ".json":
    check_aws_batch(json.loads(text))
else:
    import yaml
    check_jobset(yaml.safe_load(text), text)
