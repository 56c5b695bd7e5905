"""The children of a running `penstock dev`, or the ports that services would need."""

from __future__ import annotations

from penstock.cli.checks.finding import Finding, Patient, ok
from penstock.cli.roles import ROLES
from penstock.embedded.ports import is_free
from penstock.embedded.stack import Service


async def check(patient: Patient) -> list[Finding]:
    if patient.stack is not None:
        return [child(service) for service in patient.stack.services if service.origin == "child"]
    return [port(patient, key) for role in ROLES for key in role.ports]


def child(service: Service) -> Finding:
    check, detail = f"{service.name} process", f"{service.status} at {service.address}"
    if service.status != "ready":
        return Finding(check, "fail", detail, f"Its log is logs/{service.name}.log in the data folder.")
    if service.restarts:
        fix = f"Why is in logs/{service.name}.log in the data folder."
        return Finding(check, "warn", f"{detail}, restarted {service.restarts} times", fix)
    return ok(check, detail)


def port(patient: Patient, key: str) -> Finding:
    section, _, field = key.partition(".")
    settings = getattr(patient.config, section)
    number: int = getattr(settings, field)
    if number == 0 or is_free(number, settings.host):
        return ok(key, f"{number or 'any'} is free")
    fix = f"Nothing to do if that is a {section} of yours; else stop what holds it or set {key}."
    return Finding(key, "warn", f"{number} is in use", fix)
