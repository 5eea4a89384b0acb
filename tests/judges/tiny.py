"""A tiny image-text-to-text model of random weights, saved in the real format."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


def write_tiny_model(folder: Path) -> Path:
    """Write a LLaVA model of a few thousand weights, with its processor and tokenizer."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    tokenizers: Any = import_module("tokenizers")
    torch.manual_seed(0)
    bytewise = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain = tokenizers.Tokenizer(tokenizers.models.BPE())
    plain.pre_tokenizer, plain.decoder = bytewise, tokenizers.decoders.ByteLevel()
    special = ["<pad>", "<s>", "</s>", "<image>"]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=bytewise.alphabet(), show_progress=False
    )
    plain.train_from_iterator(["Yes No yes no the image is red answer question"] * 50, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=["<image>"],
    )
    images = transformers.CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    transformers.LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=14,
        chat_template=_TEMPLATE,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    ).save_pretrained(folder)
    vision = transformers.CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=28,
        patch_size=14,
        projection_dim=16,
    )
    text = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=8192,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    config = transformers.LlavaConfig(
        vision_config=vision, text_config=text, image_token_index=special.index("<image>")
    )
    transformers.LlavaForConditionalGeneration(config).save_pretrained(folder)
    return folder
