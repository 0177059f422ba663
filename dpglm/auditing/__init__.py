"""Audits: a lower bound on epsilon from draws of the releases on neighbouring tables made of the schema."""

from dpglm.auditing.result import Audit, AuditRow
from dpglm.auditing.verb import audit

__all__ = ["Audit", "AuditRow", "audit"]
