"""Items of ICE-Bench for anyone's pictures."""
