"""What the fake server writes where chains of instructions are built: sound steps, by chance, in
the forms that real models use, and now and then a sentence that falls apart."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence

Fields = Mapping[str, str]
FORMS = ("json", "fenced", "prose", "lines", "bold", "chinese")
"""How fields can be written down."""
_GARBLED, _INFEASIBLE = 0.03, 0.04
_COLOURS = ("red", "teal", "golden", "violet", "white", "dark green", "orange")
_THINGS = ("paper lantern", "striped umbrella", "wooden stool", "tin kettle", "brass bell",
           "wicker basket", "glass jar", "wool blanket")  # fmt: skip
_PARTS = ("ribbon", "paper label", "small flag", "round badge")
_PLACES = ("on the left", "on the right", "in the foreground", "next to the largest object")
_STUFF = ("oak wood", "brushed steel", "blue glass", "woven reed")
_SIGHTS = ("a map of an island", "a beach at sunset", "a snowy street", "a field of tulips")
_POSES = ("raise its head", "lie down", "turn to the left", "lean forward")
_STYLES = ("a watercolour painting", "a pencil drawing", "a mosaic", "an old photograph")
_WORDS = ("OPEN", "HELLO", "NORTH 7", "TEA & CO")
_OPERATION = re.compile(r"^- ([^:\n]+): ", re.MULTILINE)
_LISTED = re.compile(r"^[0-9]+\. (.+)$", re.MULTILINE)


def answer(text: str, chance: random.Random) -> str | None:
    """A reply to a prompt that builds chains; nothing where the text is none."""
    for mark, write in _WRITERS.items():
        if mark in text:
            return write(text, chance)
    return None


def render(found: Sequence[Fields], form: str) -> str:
    """Records in one of the forms in which models give them."""
    if form in ("json", "fenced", "prose"):
        value = dict(found[0]) if len(found) == 1 else [dict(one) for one in found]
        body = json.dumps(value, ensure_ascii=False, indent=None if form == "json" else 2)
        if form == "json":
            return body
        fenced = f"```json\n{body}\n```"
        if form == "fenced":
            return fenced
        return f"Let me look at [the picture] first.\n\n{fenced}\n\nI hope that this helps!"
    if form == "chinese":
        return "\n".join(
            "{" + "，".join(f"“{name}”：“{said}”" for name, said in one.items()) + "}"
            for one in found
        )
    bold = "**" if form == "bold" else ""
    blocks = []
    for one in found:
        lines = [f"{bold}{name.capitalize()}:{bold} {said}" for name, said in one.items()]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def render_list(found: Sequence[Fields], form: str) -> str:
    """Atomic instructions as a numbered list."""
    name, colon = {
        "bold": ("**{}**", ": "), "bracketed": ("[{}]", " "), "chinese": ("{}", "："),
    }.get(form, ("{}", ": "))  # fmt: skip
    stop = "、" if form == "chinese" else ". "
    return "\n".join(
        f"{at}{stop}{name.format(one['operation'])}{colon}{one['instruction']}"
        + (f" (Because {one['reason']})" if one.get("reason") else "")
        for at, one in enumerate(found, 1)
    )


def spoiled(text: str, chance: random.Random) -> str:
    """A sentence as it is, or now and then as a model at high temperature leaves it."""
    if chance.random() >= _GARBLED:
        return text
    half = text[: len(text) // 2]
    return half + chance.choice(
        (" the the the the the", " жжёт сквозь 红色的 ツ 나무 поля", "aaaaaaaaaaaa")
    )


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


def _sentence(operation: str, chance: random.Random) -> str:
    return _SENTENCES.get(operation, f"{operation} {{place}}.").format(
        thing=chance.choice(_THINGS), colour=chance.choice(_COLOURS), stuff=chance.choice(_STUFF),
        place=chance.choice(_PLACES), side=chance.choice(("left", "right")),
        number=chance.randint(2, 6), words=chance.choice(_WORDS),
    )  # fmt: skip


def _sequence(text: str, chance: random.Random) -> str:
    known = _OPERATION.findall(text.partition("What makes")[0])
    number = re.search(r"sequence of ([0-9]+) edits", text)
    count = int(number[1]) if number else 8
    operations = chance.sample(known, min(count, len(known)))
    found = []
    for operation in operations:
        said = _sentence(operation, chance)
        if chance.random() < 0.4:
            said = said[:-1] + ", so that the whole scene becomes livelier."
        found.append(
            {
                "operation": operation,
                "instruction": spoiled(said, chance),
                "reason": "it suits the scene",
            }
        )
    way = chance.randrange(3)
    if way == 0:
        return render_list(found, chance.choice(("plain", "bold", "bracketed", "chinese")))
    return "The scene is calm. I go from light to dark.\n\n" + render(
        found, chance.choice(FORMS[:5])
    )


def _simplified(text: str, chance: random.Random) -> str:
    said = text.partition("picture editor:\n\n")[2].partition("\n\n")[0]
    short, long, _ = said.partition(", so that")
    if not long:
        fields = {"needed": "no", "instruction": ""}
        return chance.choice(("No.", "No, it is short already.", render([fields], "fenced")))
    fields = {"needed": "yes", "instruction": spoiled(f"{short}.", chance)}
    form = chance.choice(("json", "fenced", "prose", "lines", "bold"))
    return render([fields], form)


def _compound(text: str, chance: random.Random) -> str:
    steps = _LISTED.findall(text.partition("in it:")[2].partition("Put them together")[0])
    parts = [step.rstrip(".") for step in steps] or [""]
    said = ", then ".join([parts[0], *(part[:1].lower() + part[1:] for part in parts[1:])]) + "."
    fields = {
        "reasoning": "The edits do not touch each other.",
        "instruction": spoiled(said, chance),
    }
    return render([fields], chance.choice(("json", "fenced", "prose", "lines", "bold")))


def _step(text: str, chance: random.Random) -> str:
    kind = re.search(r"Its type: ([a-z ]+), which", text)
    named = re.findall(r"^- ([^(\n]+?) \(", text.partition("Write one")[0], re.MULTILINE)
    before = re.search(r"carried out by then: (.*?) It must be about", text)
    taken = text.partition("which are for the same picture")[2].partition("A later instruction")[0]
    free = [name for name in named if f" {name}" not in taken] or named or ["largest object"]
    old, new = chance.choice(free), ""
    thing, colour = chance.choice(_THINGS), chance.choice(_COLOURS)
    if before:
        made = re.search(
            r"(?:add|into|to) an? ([a-z ]+?)(?: on| in| next|\.|$)", before[1].casefold()
        )
        old = made[1] if made else old
    name = kind[1] if kind else ""
    if name == "add object":
        new = chance.choice(_PARTS) if before else thing
        said = (
            f"Add a {colour} {new} on the {old}." if before else f"Add a {new} next to the {old}."
        )
        old = ""
    elif name == "change object":
        new = thing
        said = f"Change the {old} into a {new}."
    else:
        said = {
            "delete object": f"Delete the {old}.",
            "color": f"Change the color of the {old} to {colour}.",
            "material": f"Change the material of the {old} to {chance.choice(_STUFF)}.",
            "content": f"Change what the {old} shows to {chance.choice(_SIGHTS)}.",
            "text": f'Write "{chance.choice(_WORDS)}" on the {old} in {colour}.',
            "pose": f"Let the {old} {chance.choice(_POSES)}.",
            "change background": f"Change the background to {chance.choice(_SIGHTS)}.",
            "change style": f"Change the style to {chance.choice(_STYLES)}.",
        }.get(name, f"Look at the {old}.")
    if name in ("change background", "change style"):
        old = ""
    fields = {
        "instruction": spoiled(said, chance),
        "old": old or "nothing",
        "new": new or "nothing",
    }
    form = chance.choice([one for one in FORMS if one != "chinese" or '"' not in said])
    return render([fields], form)


def _check(text: str, chance: random.Random) -> str:
    steps = _LISTED.findall(text.partition("one after another:")[2].partition("Ask of each")[0])
    found = []
    for number, _ in enumerate(steps, 1):
        bad = chance.random() < _INFEASIBLE
        found.append({
            "number": f"{number}", "scene": "no" if bad else "yes", "reference": "yes",
            "conflict": "no", "reason": "it could not stand there" if bad else "",
        })  # fmt: skip
    return render(found, chance.choice(FORMS[:4]))


def _plan(text: str, chance: random.Random) -> str:
    said = text.partition("What is wanted:\n\n")[2].partition("\n\nThink it through")[0]
    order = chance.choice(("From the back to the front", "First the large things"))
    plan = f"{order}: {said} The finished picture shows just that; all else stays as it is."
    return chance.choice((plan, f"<think>Where is it?</think>\n{plan}"))


_WRITERS = {
    '"operation": "a name from the list"': _sequence,
    '"the shorter instruction': _simplified,
    '"the one instruction"': _compound,
    '"what is new in the picture': _step,
    '"conflict": "yes" or "no"': _check,
    "Write the plan for a picture editor": _plan,
}
"""By what each prompt is known: a piece of the form that it asks for."""
