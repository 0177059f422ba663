"""Audits: a lower bound on epsilon from draws of the releases on neighbouring tables made of the schema."""
