"""Builder of synthetic twins of images: captions, images made from them, and pairs."""
