"""Description and instruction templates of each ICE-Bench task.

Blanks of a template are in braces, as in `Make {the thing} in <SOURCE> {its new colour}.` A template without blanks is
used as the instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_SCENE = "a scene: who or what, doing what, where, in which light"


class TaskKit(NamedTuple):
    """Description of a task, and templates of its instructions."""

    meaning: str
    templates: tuple[str, ...]


def _kit(meaning: str, *templates: str) -> TaskKit:
    return TaskKit(meaning, templates)


TASK_KITS: Mapping[str, TaskKit] = {
    "Text-to-Image Creating": _kit(
        "make a picture from words alone",
        f"{{{_SCENE}}}",
        f"A picture of {{{_SCENE}}}.",
        f"A photograph of {{{_SCENE}}}.",
        "Draw {a scene, with its mood and its style}.",
    ),
    "Face Reference Creating": _kit(
        "make a new picture of the person whose face the reference shows",
        "Show the person in <REF_1> as {a role, with clothes and surroundings}.",
        "Make a picture in which the person in <REF_1> {does something, somewhere else}.",
        "Draw {a new scene} with the person in <REF_1> at its centre.",
    ),
    "Style Reference Creating": _kit(
        "make a new picture of something else than the reference shows, in its style",
        f"In the style of <REF_1>, draw {{{_SCENE}}}.",
        "Paint {another subject in its surroundings} the way <REF_1> is painted.",
        "Make a picture of {another subject} that could hang beside <REF_1>.",
    ),
    "Subject Reference Creating": _kit(
        "make a new picture, of another scene, with the very object or animal that the reference shows",
        "Show {the subject} from <REF_1> {in another place, or in use}.",
        "Make a picture of {a new scene} in which {the subject} from <REF_1> stands out.",
        "Place {the subject} from <REF_1> {somewhere new, with what is around it}.",
    ),
    "Color Editing": _kit(
        "change the colour of something and nothing else",
        "Make {the thing, and which one} in <SOURCE> {its new colour}.",
        "Change the colour of {the thing, and which one} in <SOURCE> to {its new colour}.",
        "Recolour {the thing, and which one} in <SOURCE>: it should be {its new colour}.",
    ),
    "Motion Editing": _kit(
        "change the pose or the movement of a person or an animal, so that it is seen in a still picture",
        "Make {the person or animal} in <SOURCE> {take another pose or move}.",
        "Change <SOURCE> so that {the person or animal} {does something else}.",
        "In <SOURCE>, {the person or animal} should {be doing something else}.",
    ),
    "Face Editing": _kit(
        "change something about a face: expression, age, hair, make-up, glasses",
        "Change the face of {the person} in <SOURCE>: {what is to be different}.",
        "Make {the person} in <SOURCE> {look otherwise: expression, age, hair or make-up}.",
        "In <SOURCE>, let the face of {the person} {look otherwise, and how}.",
    ),
    "Texture Editing": _kit(
        "change what something is made of, or its surface",
        "Make {the thing, and which one} in <SOURCE> look as if it were made of {a material}.",
        "Give {the thing, and which one} in <SOURCE> a surface of {a texture}.",
        "Turn the material of {the thing, and which one} in <SOURCE> into {a material}.",
    ),
    "Style Editing": _kit(
        "turn the whole picture into a named style",
        "Turn <SOURCE> into {a named manner of painting, drawing or film}.",
        "Show <SOURCE> in the style of {a named style}.",
        "Redraw <SOURCE> as {a named manner of painting, drawing or film}.",
    ),
    "Scene Editing": _kit(
        "put what is in front before another background",
        "Replace the background of <SOURCE> with {another setting}.",
        "Place {the subject in front} from <SOURCE> in {another setting}.",
        "Change where <SOURCE> was taken: behind {the subject in front} is {another setting}.",
    ),
    "Subject Addition": _kit(
        "add an object, a person or an animal",
        "Add {what comes in} {where} in <SOURCE>.",
        "Put {what comes in} {where} in <SOURCE>, and leave the rest alone.",
        "There should also be {what comes in} {where} in <SOURCE>.",
    ),
    "Subject Removal": _kit(
        "take an object, a person or an animal away",
        "Remove {the thing, and which one} from <SOURCE>.",
        "Take {the thing, and which one} out of <SOURCE>, and fill in what is behind it.",
        "Show <SOURCE> without {the thing, and which one}.",
    ),
    "Subject Change": _kit(
        "replace an object, a person or an animal by another",
        "Replace {the thing, and which one} in <SOURCE> with {another thing}.",
        "Turn {the thing, and which one} in <SOURCE> into {another thing}.",
        "Where <SOURCE> shows {the thing, and which one}, there should be {another thing}.",
    ),
    "Text Render": _kit(
        "write given words, which are not in the picture yet, at a given place",
        'Write "{the words}" {where, and in which letters} in <SOURCE>.',
        'Add the text "{the words}" {where, and in which letters} in <SOURCE>.',
        'In <SOURCE>, let "{the words}" stand {where, and in which letters}.',
    ),
    "Text Removal": _kit(
        "take all text out of the picture",
        "Remove all text from <SOURCE>.",
        "Take every letter and number out of <SOURCE>.",
        "Show <SOURCE> without any writing.",
    ),
    "Composite Editing": _kit(
        "make several edits of different kinds at once",
        "In <SOURCE>, {make a first change}, {make a second change} and {make a third change}.",
        "Change <SOURCE>: {make a first change}, and {make a second change}.",
        "Edit <SOURCE> in three ways: {a first change}; {a second change}; {a third change}.",
    ),
    "Inpainting": _kit(
        "paint the marked region anew with what the words say",
        "Fill the masked part of <SOURCE> with {what is to be seen there}.",
        "Repaint the masked part of <SOURCE> so that it shows {what is to be seen there}.",
        "Where <SOURCE> is masked, there should be {what is to be seen there}.",
    ),
    "Outpainting": _kit(
        "continue the picture beyond its borders, into the marked region",
        "Continue <SOURCE> into the masked part, where there is {what lies there}.",
        "Extend <SOURCE> to its full size; the masked part shows {what lies there}.",
        "Fill the masked borders of <SOURCE> with {what lies there}.",
    ),
    "Local Subject Addition": _kit(
        "add something that fits into the marked region",
        "Add {what comes in} in the masked part of <SOURCE>.",
        "Put {what comes in} where <SOURCE> is masked.",
        "The masked part of <SOURCE> should also hold {what comes in}.",
    ),
    "Local Subject Removal": _kit(
        "take away what lies in the marked region",
        "Remove {what lies there} in the masked part of <SOURCE>.",
        "Take {what lies there} away where <SOURCE> is masked.",
        "Clear the masked part of <SOURCE> of {what lies there}.",
    ),
    "Local Text Render": _kit(
        "write given words in the marked region",
        'Write "{the words}" in the masked part of <SOURCE> {in which letters}.',
        'Put the text "{the words}" where <SOURCE> is masked.',
        'Let the masked part of <SOURCE> read "{the words}" {in which letters}.',
    ),
    "Local Text Removal": _kit(
        "take the text in the marked region away",
        "Remove the text in the masked part of <SOURCE>.",
        "Take the writing away where <SOURCE> is masked.",
        "Clear the masked part of <SOURCE> of all letters.",
    ),
    "Pose-guided Generation": _kit(
        "make a picture whose people stand as the drawn pose shows",
        "Following the pose in <SOURCE>, draw {who, in which clothes, where}.",
        "Make a picture of {who, in which clothes, where} in the pose of <SOURCE>.",
        "Draw {who, in which clothes, where}, standing just as in <SOURCE>.",
    ),
    "Edge-guided Generation": _kit(
        "make a picture that follows the drawn edges",
        "Following the edges in <SOURCE>, draw {what they show, with colours and light}.",
        "Turn the edges in <SOURCE> into a picture of {what they show, and where}.",
        "Colour in the outlines of <SOURCE> as {what they show, with colours and light}.",
    ),
    "Depth-guided Generation": _kit(
        "make a picture whose near and far lie as in the depth map",
        "Following the depth map <SOURCE>, draw {what is near, and what is far}.",
        "Make a picture of {what is near, and what is far} with the depth of <SOURCE>.",
        "Draw {a scene} whose near and far lie as in <SOURCE>.",
    ),
    "Image Colorization": _kit(
        "colour a grey picture as the words say",
        "Colour <SOURCE>: {which things have which colours}.",
        "Make <SOURCE> a colour photograph with {which things in which colours}.",
        "Give <SOURCE> its colours back, with {which things in which colours}.",
    ),
    "Image Deblurring": _kit(
        "make a blurred picture sharp",
        "Make <SOURCE> sharp and clear.",
        "Remove the blur from <SOURCE>.",
        "Restore <SOURCE> so that all details are crisp.",
    ),
    "Style Transfer": _kit(
        "give the source the style of the reference",
        "Give <SOURCE> the style of <REF_1>.",
        "Repaint <SOURCE> in the manner of <REF_1>, and keep what it shows.",
        "Make <SOURCE> look as if whoever made <REF_1> had made it.",
    ),
    "Subject-guided Inpainting": _kit(
        "put what the reference shows into the marked region",
        "Put {the subject} from <REF_1> into the masked part of <SOURCE>.",
        "Fill the masked part of <SOURCE> with {the subject} from <REF_1>.",
        "Where <SOURCE> is masked, show {the subject} from <REF_1>.",
    ),
    "Virtual Try On": _kit(
        "let the person wear the piece of clothing that the reference shows",
        "Dress the person in <SOURCE> in {the garment} from <REF_1>.",
        "Make the person in <SOURCE> wear {the garment} from <REF_1>.",
        "Show how {the garment} from <REF_1> looks on the person in <SOURCE>.",
    ),
    "Face Swap": _kit(
        "put the face of the reference in the place of the one in the marked region",
        "Put the face in <REF_1> in the place of the masked one in <SOURCE>.",
        "Swap the masked face in <SOURCE> for the one in <REF_1>.",
        "Give the person under the mask in <SOURCE> the face from <REF_1>.",
    ),
}
