"""Coding: the public linear map from users' columns to bounded rows."""
