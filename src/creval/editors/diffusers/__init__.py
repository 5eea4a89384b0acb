"""Pipelines of the diffusers library that edit here: `diffusers:ORG/MODEL`, `diffusers:FOLDER`."""
