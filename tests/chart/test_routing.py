"""Services, Ingresses and HTTPRoutes: what is reached from where; the operations port never is."""

from tests.support.helm import DEFAULT, FULL, STATE_ONLY, render


def test_every_service_selects_the_pods_of_its_deployment() -> None:
    chart = render(FULL)
    for component in ("state", "gateway", "maintenance"):
        service = chart.one("Service", f"memory-{component}")
        labels = chart.deployment(component)["spec"]["template"]["metadata"]["labels"]
        assert service["spec"]["selector"].items() <= labels.items()


def test_ports_of_the_services() -> None:
    ports = {
        name: {port["name"]: port["port"] for port in service["spec"]["ports"]}
        for name, service in render(FULL).kind("Service").items()
    }
    assert ports == {
        "memory-state": {"http": 6367, "ops": 9367},
        "memory-gateway": {"http": 6368, "ops": 9368},
        "memory-maintenance": {"ops": 9369},
    }


def test_nothing_is_routed_unless_asked_for() -> None:
    chart = render()
    assert chart.kind("Ingress") == chart.kind("HTTPRoute") == {}


def test_an_ingress_leads_to_what_clients_call() -> None:
    found = {}
    for name, ingress in render(FULL).kind("Ingress").items():
        (rule,) = ingress["spec"]["rules"]
        backends = {path["backend"]["service"]["port"]["name"] for path in rule["http"]["paths"]}
        assert backends == {"http"}
        found[name] = (rule["host"], [path["path"] for path in rule["http"]["paths"]])
    assert found == {
        "memory-state": ("state.example.org", ["/v1", "/health"]),
        "memory-gateway": ("mcp.example.org", ["/mcp", "/.well-known", "/health"]),
    }


def test_an_ingress_takes_whole_bodies_and_buffers_no_answer() -> None:
    ingress = render(FULL).one("Ingress", "memory-state")
    annotations = ingress["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/proxy-body-size"] == "64m"
    assert annotations["nginx.ingress.kubernetes.io/proxy-buffering"] == "off"
    assert annotations["nginx.org/client-max-body-size"] == "64m"
    assert annotations["cert-manager.io/cluster-issuer"] == "internal"
    assert ingress["spec"]["tls"] == [{"hosts": ["state.example.org"], "secretName": "state-tls"}]
    assert ingress["spec"]["ingressClassName"] == "nginx"


def test_an_annotation_of_ones_own_wins_over_that_of_a_controller() -> None:
    key = "state.ingress.annotations.nginx\\.org/proxy-read-timeout"
    annotations = render(FULL, f"{key}=5s").one("Ingress", "memory-state")["metadata"][
        "annotations"
    ]
    assert annotations["nginx.org/proxy-read-timeout"] == "5s"


def test_a_route_leads_to_the_same_paths() -> None:
    route = render(FULL).one("HTTPRoute", "memory-gateway")["spec"]
    (rule,) = route["rules"]
    assert [match["path"]["value"] for match in rule["matches"]] == [
        "/mcp",
        "/.well-known",
        "/health",
    ]
    assert rule["backendRefs"] == [{"name": "memory-gateway", "port": 6368}]
    assert route["hostnames"] == ["mcp.example.org"]
    assert route["parentRefs"] == [{"name": "edge"}]


def test_a_service_that_is_off_leaves_nothing_of_itself() -> None:
    chart = render(STATE_ONLY, "gateway.ingress.enabled=true", "gateway.autoscaling.enabled=true")
    names = [manifest["metadata"]["name"] for manifest in chart.objects]
    assert [name for name in names if "gateway" in name or "maintenance" in name] == []


def test_a_port_of_ones_own_is_used_throughout() -> None:
    chart = render(DEFAULT, "state.service.port=80")
    assert chart.one("Service", "here-commonhold-state")["spec"]["ports"][0]["port"] == 80
    (container,) = chart.one("Pod", "here-commonhold-test")["spec"]["containers"]
    assert {"name": "STATE", "value": "here-commonhold-state:80"} in container["env"]
