"""CREval's nine dimensions, with descriptions and example instructions that were written for creval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from creval.benchmarks.creval.release import CLASS_DIMENSIONS, TAXONOMY


class Dimension(NamedTuple):
    """Description of a dimension, and three example instructions."""

    meaning: str
    examples: tuple[str, ...]


def _dimension(meaning: str, *examples: str) -> Dimension:
    return Dimension(meaning, examples)


DIMENSIONS: Mapping[str, Dimension] = {
    "Derivative Characters": _dimension(
        "the subject comes back as a figure made from it, simplified or exaggerated: a mascot, a collectible figurine, "
        "a chibi, a puppet, a sticker character",
        "Make the firefighter a vinyl toy figure with an oversized round head and stubby arms, the helmet molded in "
        "glossy red, the hose a coiled yellow ribbon on the back, standing on a white octagonal base with the number 7 "
        "on its front.",
        "Turn the heron into a cheerful mascot on two thick orange legs, with a blue scarf, a single curled feather on "
        "its head, white cotton gloves on the wing tips, and a bold black outline around the whole figure.",
        "Rework the cyclist as a wooden marionette: visible ball joints at elbows and knees, four strings running up "
        "out of the frame, a painted grin, the bicycle carved from the same pale wood, its wheels made of two tin "
        "lids.",
    ),
    "Reimagined Representations": _dimension(
        "the subject keeps its meaning and appears as a thing that one can hold or hang up: a stamp, a postcard, a "
        "page of an album, a badge, a printed panel",
        "Present the lighthouse as a perforated postage stamp on brown envelope paper, printed in two colours, navy "
        "and cream, with the value 45 in the lower left, a round postmark across one corner, and the gulls reduced to "
        "three white strokes.",
        "Show the grandmother at her stove as an embroidered cushion: her apron in red cross stitch, the steam in "
        "loose silver thread, a tassel at each of the four corners, the cushion lying on a green velvet bench.",
        "Make the sleeping dog an illustration on an opened matchbox lying on a slate table, with a striped yellow "
        "border, the word BRUNO above it, and five matches with blue heads pushed halfway out of the tray.",
    ),
    "Surreal Fantasy": _dimension(
        "the subject becomes something that does not exist: a creature of myth, a hybrid, a being or a world with "
        "other laws",
        "Give the donkey translucent dragonfly wings, hooves of glowing amber and a mane of drifting smoke, let it "
        "stand on the back of a stone whale that swims through the clouds, and hang two moons above the horizon.",
        "Let the old violin grow roots from its lower edge and five flowering branches from its neck, with strings of "
        "running water, small lanterns in place of the pegs, and a one-eyed owl sitting in the sound hole.",
        "Transform the diver into a knight of coral: antlers of branching red coral, a breastplate of mussel shells, "
        "jellyfish trailing from both shoulders as a cape, and a lance whose tip is a burning flame under water.",
    ),
    "Artistic Style Transformation": _dimension(
        "the picture is made again in the manner of an art, and may be shown where such art is found: watercolour, "
        "mural, mosaic, woodcut, stained glass",
        "Redo the harbour as a woodcut in three inks, black, rust and ivory, the waves cut as parallel curves, the "
        "boats without any shading, and show the print pinned with two brass tacks to a studio wall beside a carving "
        "knife.",
        "Paint the market as a loose watercolour on rough paper, colours bleeding at every awning's edge, pencil lines "
        "left visible, the right third unfinished and white, with a brush and a stained rag lying across the lower "
        "corner.",
        "Render the portrait as a stained-glass window in a stone arch: lead lines following the jaw and the hair, a "
        "ruby halo behind the head, a border of green vine leaves, and coloured light falling on the floor below.",
    ),
    "Identity & Cultural Transformation": _dimension(
        "who somebody is becomes another: a trade, a rank, an era or a culture, with the dress, things and place that "
        "belong to it",
        "Make the man at the bus stop a falconer at a Mongolian winter festival: a fur-lined coat with a broad orange "
        "sash, a golden eagle on his right leather glove, a round felt tent behind him, and prayer flags strung across "
        "the sky.",
        "Recast the two students as astronomers of old Samarkand, in long striped robes and white turbans, a brass "
        "astrolabe on the table in the place of the laptop, tiled blue walls, and a scroll of star charts between "
        "them.",
        "Turn the guitarist into a troubadour at a medieval fair, with a parti-coloured tunic in red and yellow, "
        "pointed shoes, a lute for the guitar, a hat with one pheasant feather, and a timber stage hung with pennants.",
    ),
    "Material Transformation": _dimension(
        "what is shown is made of another stuff: crystal, felt, bricks to build with, enamel, bread, stone; perhaps "
        "set into a plain scene",
        "Build the church entirely of stacked sugar cubes, the roof of overlapping mint leaves, the door a slab of "
        "dark chocolate, the clock a slice of dried orange, the whole standing on a blue porcelain plate.",
        "Make the motorcycle of folded newspaper with readable columns of print, its tyres from black corrugated "
        "cardboard, the lamp a bottle cap, held together by visible strips of tape, on a plain grey tabletop.",
        "Turn the fox into cast bronze with green patina in every hollow, polished bright along the back and the nose, "
        "its eyes two inlaid garnets, mounted on a rough cube of granite with a visible bolt.",
    ),
    "Containerized Scenario": _dimension(
        "the subject is placed inside a container that shows it: a snow globe, a display case, a terrarium, a bottle, "
        "a box with compartments",
        "Put the red tractor, shrunk to a toy, into a corked glass bottle lying on its side on a driftwood stand, with "
        "a field of yellow moss beneath the wheels, a paper windmill behind it, and a brass plate reading 1962 on the "
        "stand.",
        "Set the skating couple inside a snow globe with a dark walnut foot, fine silver flakes falling, a frozen pond "
        "of blue resin under their skates, and three tiny street lamps in a half circle behind them.",
        "Place the parrot in a museum case of thick glass with copper edges, perched on a white plaster branch, a "
        "handwritten label tied to its left foot, and a small spot lamp shining on it from the upper right.",
    ),
    "Commercial Design": _dimension(
        "the picture becomes something for sale or for selling: packaging, an advertisement, a brand, merchandise, a "
        "product on show",
        "Make the lemon tree the design of a drinks can standing on crushed ice: leaves wrapping around the can, the "
        "name SOLE in white capitals, three lemons as a ring under the rim, and drops of water on the metal.",
        "Turn the mountain hut into an advertisement for chocolate, the roof a bar with one bite missing, a gold "
        "wrapper folded back along the left edge, the slogan MELT UP HERE across the sky, and a small price tag in the "
        "lower right.",
        "Show the cat as a boxed collectible in a shop window: a cardboard box with a clear front, a turquoise back "
        "card with stars, the label LIMITED 200, and a spare collar and bowl in their own plastic blisters.",
    ),
    "Informational & Narrative Expression": _dimension(
        "the picture explains or tells something: an annotated chart, a poster with facts, a comic in panels, a "
        "subject that acts like a person in a story",
        "Lay the steam engine out as an educational poster on beige paper, the boiler cut open to show red tubes, five "
        "numbered arrows pointing at parts, a scale bar along the bottom, and the title HOW STEAM PULLS in dark green.",
        "Tell the squirrel's day as a comic of three panels side by side: it reads a map, it digs under an oak with a "
        "tiny shovel, it sleeps in a hammock; one yellow speech bubble in the first panel says NORTH.",
        "Recast the two teapots as rival lawyers in a courtroom: black robes over their bellies, round spectacles on "
        "both spouts, a wooden desk between them, a jury of six cups, and a banner with the words CASE OF THE MISSING "
        "LID.",
    ),
}


def class_dimension(class_id: object) -> str:
    """Return the dimension with a release's class id, or "" if the id is unknown."""
    if isinstance(class_id, int) and 1 <= class_id <= len(CLASS_DIMENSIONS):
        return CLASS_DIMENSIONS[class_id - 1]
    return ""


def describe_dimension(name: str) -> str:
    return f"{name}: {DIMENSIONS[name].meaning}."


def describe_all_dimensions() -> str:
    """Return the descriptions of all dimensions, by category."""
    lines = []
    for category, names in TAXONOMY.items():
        lines += [f"{category}:", *(f"- {describe_dimension(name)}" for name in names)]
    return "\n".join(lines)
