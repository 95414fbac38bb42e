# Checks that each part of the manifests is probed, may be moved, is placed by the
# machines that take it, and is reached by the parts that need it alone, and that nodes
# believe the balancers: policies.py FILE LIMITS PRODUCTS, with the Valkeys' ports.

import sys

import yaml

path, limits, products = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(path, encoding="utf-8") as file:
    objects = list(yaml.safe_load_all(file))


def of(*kinds):
    return [it for it in objects if it["kind"] in kinds]


def selecting(kind, key, labels):
    """Returns the one object of a kind that selects pods with these labels."""
    found = [
        it["spec"]
        for it in of(kind)
        if it["spec"][key]["matchLabels"].items() <= labels.items()
    ]
    assert len(found) == 1, (kind, labels, found)
    return found[0]


workloads = of("Deployment", "StatefulSet")
names = sorted(it["metadata"]["name"] for it in workloads)
expected = ["sandpiper", "sandpiper-balancer", "sandpiper-limits", "sandpiper-products"]
assert names == expected, names
for workload in workloads:
    name = workload["metadata"]["name"]
    template = workload["spec"]["template"]
    labels = template["metadata"]["labels"]
    policy = selecting("NetworkPolicy", "podSelector", labels)
    assert policy["policyTypes"] == ["Ingress", "Egress"], name
    for container in template["spec"]["containers"]:
        for probe in "readinessProbe", "livenessProbe":
            assert probe in container, (name, probe)
    for spread in template["spec"].get("topologySpreadConstraints", []):
        # A machine that takes no such pod would count as one that lacks them.
        if spread["whenUnsatisfiable"] == "DoNotSchedule":
            assert spread.get("nodeTaintsPolicy") == "Honor", name
    # The other two are one of each, which a budget would keep from ever moving.
    if workload["spec"]["replicas"] > 1:
        budget = selecting("PodDisruptionBudget", "selector", labels)
        assert budget["maxUnavailable"] == 1, name


def reach(app, port):
    """Returns the sources that a policy lets to a port of these pods."""
    policy = selecting("NetworkPolicy", "podSelector", {"app": app})
    # A rule that lists no ports or no sources has all of them.
    return [
        source
        for rule in policy["ingress"]
        if port in [it["port"] for it in rule.get("ports") or [{"port": port}]]
        for source in rule.get("from") or ["anybody"]
    ]


def reaches(app):
    """Returns the ports that a policy lets these pods reach."""
    policy = selecting("NetworkPolicy", "podSelector", {"app": app})
    rules = policy["egress"]
    assert all(rule["to"] and rule["ports"] for rule in rules), rules
    return {it["port"] for rule in rules for it in rule["ports"]}


def pods(app):
    return [{"podSelector": {"matchLabels": {"app": app}}}]


# The nodes believe the balancers, also one that is not ready yet.
KEY = "SANDPIPER_TRUSTED_PROXY"
[name] = [it["data"][KEY] for it in of("ConfigMap") if KEY in it["data"]]
full = "{name}.{namespace}.svc.cluster.local."
services = of("Service")
[proxies] = [it["spec"] for it in services if full.format(**it["metadata"]) == name]
assert proxies["selector"] == {"app": "sandpiper-balancer"}
assert proxies["clusterIP"] == "None"
assert proxies["publishNotReadyAddresses"]

assert reach("sandpiper", 8080) == pods("sandpiper-balancer")
for port in limits, products:
    assert reach("sandpiper-valkey", port) == pods("sandpiper"), port
assert reach("sandpiper-valkey", 22) == []
assert reach("sandpiper-balancer", 8080) == ["anybody"]
monitoring = {"kubernetes.io/metadata.name": "monitoring"}
for app, port in ("sandpiper", 9464), ("sandpiper-balancer", 8406):
    sources = [{"namespaceSelector": {"matchLabels": monitoring}}]
    assert reach(app, port) == sources, app
assert reaches("sandpiper") == {limits, products, 53}
assert reaches("sandpiper-balancer") == {8080, 53}
assert reaches("sandpiper-valkey") == set()
