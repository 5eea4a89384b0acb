"""Replies of the fake server to the builders of instruction chains, in realistic formats, sometimes garbled."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence

Fields = Mapping[str, str]
RECORD_FORMATS = ("json", "fenced", "prose", "lines", "bold", "chinese")
"""Formats of records."""
_GARBLED_RATE, _INFEASIBLE_RATE = 0.03, 0.04
_COLOURS = ("red", "teal", "golden", "violet", "white", "dark green", "orange")
_THINGS = (
    "paper lantern",
    "striped umbrella",
    "wooden stool",
    "tin kettle",
    "brass bell",
    "wicker basket",
    "glass jar",
    "wool blanket",
)
_PARTS = ("ribbon", "paper label", "small flag", "round badge")
_PLACES = ("on the left", "on the right", "in the foreground", "next to the largest object")
_MATERIALS = ("oak wood", "brushed steel", "blue glass", "woven reed")
_SCENES = ("a map of an island", "a beach at sunset", "a snowy street", "a field of tulips")
_POSES = ("raise its head", "lie down", "turn to the left", "lean forward")
_STYLES = ("a watercolour painting", "a pencil drawing", "a mosaic", "an old photograph")
_WORDS = ("OPEN", "HELLO", "NORTH 7", "TEA & CO")
_OPERATION = re.compile(r"^- ([^:\n]+): ", re.MULTILINE)
_LISTED = re.compile(r"^[0-9]+\. (.+)$", re.MULTILINE)


def render_records(records: Sequence[Fields], form: str) -> str:
    """Render records in one of the formats that models use."""
    if form in ("json", "fenced", "prose"):
        value = dict(records[0]) if len(records) == 1 else [dict(one) for one in records]
        if form == "json":
            return json.dumps(value, ensure_ascii=False)
        fenced = f"```json\n{json.dumps(value, ensure_ascii=False, indent=2)}\n```"
        helpful = f"Let me look at [the picture] first.\n\n{fenced}\n\nI hope that this helps!"
        return helpful if form == "prose" else fenced
    if form == "chinese":
        return "\n".join("{" + "，".join(f"“{name}”：“{said}”" for name, said in one.items()) + "}" for one in records)
    bold = "**" if form == "bold" else ""
    blocks = ([f"{bold}{name.capitalize()}:{bold} {said}" for name, said in one.items()] for one in records)
    return "\n\n".join(map("\n".join, blocks))


def render_numbered_list(records: Sequence[Fields], form: str) -> str:
    """Render atomic instructions as a numbered list."""
    forms = {"bold": ("**{}**", ": "), "bracketed": ("[{}]", " "), "chinese": ("{}", "：")}
    name, colon = forms.get(form, ("{}", ": "))
    stop = "、" if form == "chinese" else ". "
    return "\n".join(
        f"{at}{stop}{name.format(one['operation'])}{colon}{one['instruction']}"
        + (f" (Because {one['reason']})" if one.get("reason") else "")
        for at, one in enumerate(records, 1)
    )


def maybe_garble(text: str, rng: random.Random) -> str:
    """Return a sentence unchanged, or occasionally garbled as by a model at high temperature."""
    if rng.random() >= _GARBLED_RATE:
        return text
    half = text[: len(text) // 2]
    return half + rng.choice((" the the the the the", " жжёт сквозь 红色的 ツ 나무 поля", "aaaaaaaaaaaa"))


_SENTENCES = {
    "Add an Object": "Add a {thing} {place}.",
    "Remove an Object": "Remove the smallest object {place}.",
    "Replace an Object": "Replace the object {place} with a {thing}.",
    "Move an Object": "Move the largest object to the {side} by a third of the picture.",
    "Resize an Object": "Make the object {place} {number} times as large.",
    "Rotate an Object": "Rotate the object {place} by {number}0 degrees.",
    "Duplicate an Object": "Put a second one of the largest object {place}.",
    "Change Color": "Change the color of the object {place} to {colour}.",
    "Apply Filter/Weather": "Cover the scene with a light {colour} fog.",
    "Change Texture": "Make the object {place} look like {stuff}.",
    "Change Background": "Replace the background with a plain {colour} wall.",
    "Adjust Lighting": "Light the scene from the {side} with {colour} light.",
    "Add Text": 'Write "{words}" {place} in {colour} letters.',
    "Remove Text": "Remove all lettering {place}.",
    "Change Text Properties": "Set the lettering {place} in {colour}.",
    "Crop Image": "Crop a tenth of the picture on the {side}.",
    "Reframe Composition": "Put the largest object at the {side} border.",
    "Zoom In/Out": "Zoom in {number} times on the object {place}.",
    "Change Pose": "Tilt the object {place} to the {side}.",
    "Change Facial Expression": "Let the figure {place} smile to the {side}.",
    "Add Special Effects": "Put a {colour} glow around the object {place}.",
    "Remove Special Effects": "Take away the blur {place}.",
    "Add Particles": "Let {colour} petals fall {place}.",
    "Remove Particles": "Remove the dust {place}.",
}


def _sentence(operation: str, rng: random.Random) -> str:
    return _SENTENCES.get(operation, f"{operation} {{place}}.").format(
        thing=rng.choice(_THINGS),
        colour=rng.choice(_COLOURS),
        stuff=rng.choice(_MATERIALS),
        place=rng.choice(_PLACES),
        side=rng.choice(("left", "right")),
        number=rng.randint(2, 6),
        words=rng.choice(_WORDS),
    )


def _write_sequence(text: str, rng: random.Random) -> str:
    known = _OPERATION.findall(text.partition("What makes")[0])
    number = re.search(r"sequence of ([0-9]+) edits", text)
    count = int(number[1]) if number else 8
    found = []
    for operation in rng.sample(known, min(count, len(known))):
        said = _sentence(operation, rng)
        if rng.random() < 0.4:
            said = said[:-1] + ", so that the whole scene becomes livelier."
        found.append({"operation": operation, "instruction": maybe_garble(said, rng), "reason": "it suits the scene"})
    if rng.randrange(3) == 0:
        return render_numbered_list(found, rng.choice(("plain", "bold", "bracketed", "chinese")))
    return "The scene is calm. I go from light to dark.\n\n" + render_records(found, rng.choice(RECORD_FORMATS[:5]))


def _write_simplified(text: str, rng: random.Random) -> str:
    said = text.partition("picture editor:\n\n")[2].partition("\n\n")[0]
    short, long, _ = said.partition(", so that")
    if not long:
        fields = {"needed": "no", "instruction": ""}
        return rng.choice(("No.", "No, it is short already.", render_records([fields], "fenced")))
    fields = {"needed": "yes", "instruction": maybe_garble(f"{short}.", rng)}
    return render_records([fields], rng.choice(RECORD_FORMATS[:5]))


def _write_compound(text: str, rng: random.Random) -> str:
    steps = _LISTED.findall(text.partition("in it:")[2].partition("Put them together")[0])
    parts = [step.rstrip(".") for step in steps] or [""]
    said = ", then ".join([parts[0], *(part[:1].lower() + part[1:] for part in parts[1:])]) + "."
    fields = {"reasoning": "The edits do not touch each other.", "instruction": maybe_garble(said, rng)}
    return render_records([fields], rng.choice(RECORD_FORMATS[:5]))


def _write_step(text: str, rng: random.Random) -> str:
    kind = re.search(r"Its type: ([a-z ]+), which", text)
    named = re.findall(r"^- ([^(\n]+?) \(", text.partition("Write one")[0], re.MULTILINE)
    before = re.search(r"carried out by then: (.*?) It must be about", text)
    taken = text.partition("which are for the same picture")[2].partition("A later instruction")[0]
    free = [name for name in named if f" {name}" not in taken] or named or ["largest object"]
    old, new = rng.choice(free), ""
    thing, colour = rng.choice(_THINGS), rng.choice(_COLOURS)
    if before:
        made = re.search(r"(?:add|into|to) an? ([a-z ]+?)(?: on| in| next|\.|$)", before[1].casefold())
        old = made[1] if made else old
    name = kind[1] if kind else ""
    if name == "add object":
        new = rng.choice(_PARTS) if before else thing
        said = f"Add a {colour} {new} on the {old}." if before else f"Add a {new} next to the {old}."
    elif name == "change object":
        new = thing
        said = f"Change the {old} into a {new}."
    else:
        said = {
            "delete object": f"Delete the {old}.",
            "color": f"Change the color of the {old} to {colour}.",
            "material": f"Change the material of the {old} to {rng.choice(_MATERIALS)}.",
            "content": f"Change what the {old} shows to {rng.choice(_SCENES)}.",
            "text": f'Write "{rng.choice(_WORDS)}" on the {old} in {colour}.',
            "pose": f"Let the {old} {rng.choice(_POSES)}.",
            "change background": f"Change the background to {rng.choice(_SCENES)}.",
            "change style": f"Change the style to {rng.choice(_STYLES)}.",
        }.get(name, f"Look at the {old}.")
    if name in ("add object", "change background", "change style"):
        old = ""
    fields = {"instruction": maybe_garble(said, rng), "old": old or "nothing", "new": new or "nothing"}
    form = rng.choice([one for one in RECORD_FORMATS if one != "chinese" or '"' not in said])
    return render_records([fields], form)


def _write_check(text: str, rng: random.Random) -> str:
    steps = _LISTED.findall(text.partition("one after another:")[2].partition("Ask of each")[0])
    found = []
    for number in range(1, len(steps) + 1):
        bad = rng.random() < _INFEASIBLE_RATE
        scene, reason = ("no", "it could not stand there") if bad else ("yes", "")
        found.append({"number": f"{number}", "scene": scene, "reference": "yes", "conflict": "no", "reason": reason})
    return render_records(found, rng.choice(RECORD_FORMATS[:4]))


def _write_plan(text: str, rng: random.Random) -> str:
    said = text.partition("What is wanted:\n\n")[2].partition("\n\nThink it through")[0]
    order = rng.choice(("From the back to the front", "First the large things"))
    plan = f"{order}: {said} The finished picture shows just that; all else stays as it is."
    return rng.choice((plan, f"<think>Where is it?</think>\n{plan}"))


CHAIN_WRITERS = {
    '"operation": "a name from the list"': _write_sequence,
    '"the shorter instruction': _write_simplified,
    '"the one instruction"': _write_compound,
    '"what is new in the picture': _write_step,
    '"conflict": "yes" or "no"': _write_check,
    "Write the plan for a picture editor": _write_plan,
}
"""Writers of replies, by a part of the prompt's reply format that identifies the prompt."""
