"""Editors that run a pipeline of the diffusers library on this machine: `diffusers:ORG/MODEL`, `diffusers:FOLDER`."""
