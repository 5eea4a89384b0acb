"""Tiny models with random weights in model-specific file formats."""

from __future__ import annotations

from collections import OrderedDict
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

POSES = ("body_pose_model.pth", "hand_pose_model.pth", "facenet.pth")


def write_poses(folder: Path, **more: object) -> Path:
    """Write weights files with OpenPose's names, for a fake library, since the real networks are large.

    Additional content of a file is given by the file's stem.
    """
    torch = import_module("torch")
    folder.mkdir(parents=True, exist_ok=True)
    for file in POSES:
        besides = {"more": more[Path(file).stem]} if Path(file).stem in more else {}
        torch.save({"conv.weight": torch.ones(2), **besides}, folder / file)
    return folder


def write_random_openpose(folder: Path) -> Path:
    """Write OpenPose's networks with random weights, in the form of the published files."""
    torch, model = import_module("torch"), import_module("controlnet_aux.open_pose.model")
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, network in {"body": model.bodypose_model(), "hand": model.handpose_model()}.items():
        # The published weights lack the name of the component as a prefix.
        weights = {key.partition(".")[2]: value for key, value in network.state_dict().items()}
        torch.save(weights, folder / f"{name}_pose_model.pth")
    torch.save(import_module("controlnet_aux.open_pose.face").FaceNet().state_dict(), folder / "facenet.pth")
    return folder


def write_aesthetic_head(path: Path, width: int = 16) -> Path:
    """Write a head of Aesthetic Predictor V2.5, for vectors of this width."""
    torch = import_module("torch")
    torch.manual_seed(0)
    weights, sizes = {}, (width, 1024, 128, 64, 16, 1)
    for at, (few, many) in enumerate(pairwise(sizes)):
        weights[f"scoring_head.{2 * at}.weight"] = torch.randn(many, few) / few**0.5
        weights[f"scoring_head.{2 * at}.bias"] = torch.randn(many)
    torch.save(OrderedDict(weights), path)
    return path


def write_csd(path: Path, **more: Any) -> Path:
    """Write a CSD checkpoint: OpenAI's names for a CLIP of two layers, with two heads."""
    torch = import_module("torch")
    torch.manual_seed(0)
    width, side, grid = 128, 8, 3
    shapes = {
        "class_embedding": (width,),
        "positional_embedding": (grid**2 + 1, width),
        "conv1.weight": (width, 3, side, side),
    }
    for name in ("ln_pre", "ln_post"):
        shapes |= {f"{name}.weight": (width,), f"{name}.bias": (width,)}
    for layer in range(2):
        block = f"transformer.resblocks.{layer}"
        shapes |= {
            f"{block}.attn.in_proj_weight": (3 * width, width),
            f"{block}.attn.in_proj_bias": (3 * width,),
            f"{block}.attn.out_proj.weight": (width, width),
            f"{block}.attn.out_proj.bias": (width,),
            f"{block}.mlp.c_fc.weight": (2 * width, width),
            f"{block}.mlp.c_fc.bias": (2 * width,),
            f"{block}.mlp.c_proj.weight": (width, 2 * width),
            f"{block}.mlp.c_proj.bias": (width,),
        }
        for name in ("ln_1", "ln_2"):
            shapes |= {f"{block}.{name}.weight": (width,), f"{block}.{name}.bias": (width,)}
    weights = {f"module.backbone.{name}": torch.randn(shape) / 8 for name, shape in shapes.items()}
    for head in ("style", "content"):
        weights[f"module.last_layer_{head}"] = torch.randn(width, 20)
    torch.save({"model_state_dict": weights, "epoch": 3, **more}, path)
    return path


def write_faces(folder: Path) -> Path:
    """Write a detector and a recogniser of faces as ONNX files, as InsightFace lays them out."""
    onnx = import_module("onnx")
    numpy = import_module("numpy")
    helper, kept = onnx.helper, onnx.numpy_helper
    chance = numpy.random.default_rng(5)
    folder.mkdir(parents=True, exist_ok=True)

    def save(name: str, nodes: list[Any], weights: dict[str, Any], shapes: list[Any]) -> None:
        (entry, *outputs) = [helper.make_tensor_value_info(of, onnx.TensorProto.FLOAT, shape) for of, shape in shapes]
        graph = helper.make_graph(
            nodes,
            name,
            [entry],
            outputs,
            [kept.from_array(value.astype(numpy.float32), of) for of, value in weights.items()],
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        made.ir_version = 8
        onnx.save(made, folder / name)

    nodes, weights, shapes = [], {}, [("pixels", [1, 3, "h", "w"])]
    grids = []
    for kind, values in (("score", 1), ("box", 4), ("points", 10)):
        for side in (8, 16, 32):
            name = f"{kind}{side}"
            grids.append((name, side, values))
            weights[f"w_{name}"] = chance.normal(0, 1, (2 * values, 3, 1, 1))
            weights[f"b_{name}"] = chance.normal(2 if values > 1 else -1, 0.5, 2 * values)
            nodes += [
                helper.make_node(
                    "AveragePool", ["pixels"], [f"p_{name}"], kernel_shape=[side, side], strides=[side, side]
                ),
                helper.make_node("Conv", [f"p_{name}", f"w_{name}", f"b_{name}"], [f"c_{name}"]),
                helper.make_node("Transpose", [f"c_{name}"], [f"t_{name}"], perm=[0, 2, 3, 1]),
                helper.make_node("Reshape", [f"t_{name}", f"s_{values}"], [f"r_{name}" if values == 1 else name]),
            ]
            if values == 1:
                nodes.append(helper.make_node("Sigmoid", [f"r_{name}"], [name]))
            shapes.append((name, ["n", values]))
    save_shapes = {f"s_{values}": numpy.array([-1, values]) for values in (1, 4, 10)}
    graph_nodes = [
        helper.make_node("Constant", [], [name], value=kept.from_array(value.astype(numpy.int64)))
        for name, value in save_shapes.items()
    ]
    save("det_10g.onnx", graph_nodes + nodes, weights, shapes)
    save(
        "w600k_r50.onnx",
        [
            helper.make_node("AveragePool", ["pixels"], ["small"], kernel_shape=[28, 28], strides=[28, 28]),
            helper.make_node("Flatten", ["small"], ["flat"]),
            helper.make_node("Gemm", ["flat", "w", "b"], ["face"], transB=1),
        ],
        {"w": chance.normal(0, 1, (16, 48)), "b": chance.normal(0, 0.1, 16)},
        [("pixels", ["n", 3, 112, 112]), ("face", ["n", 16])],
    )
    return folder
