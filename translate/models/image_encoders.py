"""Encoders that read pictures, alone or beside a sentence: patches as a sequence, and a convolutional grid.

The source is then (B, S, numbers of a cell), see corpora/images/patches.py; a source of ids (B, S) is a
sentence without a picture.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention import MultiHead
from translate.attention.kernels.dropout import Dropout
from translate.config.files import YAML, from_file
from translate.config.option_groups import NumFurtherLayers, NumHeads, Width, flat_options, option_group
from translate.models.embedding import sinusoids
from translate.models.encoders import Encoder, EncoderSizes, mean_summary, visible
from translate.models.image_grid import Grid, Places, create_gate, pixels_of, whole_pictures
from translate.models.transformer_layer import FeedForward, Layer, LayerOptions

Embed = Callable[[Tensor], Tensor]  # ids (B, S) -> embeddings (B, S, D)
FIRST_CHANNELS = 32  # of the first convolution; each further one has twice as many


@option_group
@dataclass(frozen=True)
@from_file("model/encoder/patches.yaml")
class GridOptions:
    """The options of an encoder of images.

    Attributes:
        num_heads: of the self-attention; divides D.
        feedforward_size: width inside a layer's feed-forward part.
        gate: what multiplies the embedded grid: ``none``, ``channel``, ``spatial`` or ``combined``.
    """

    num_heads: NumHeads = YAML
    feedforward_size: Width = YAML
    gate: Literal["none", "channel", "spatial", "combined"] = YAML


OPTIONS = GridOptions()


class PictureEncoder(Encoder):
    """Embeds patches and pieces, and lets all positions attend to each other in some layers.

    Args:
        sizes: see :class:`EncoderSizes`; dropout is on what each layer adds.
        num_layers: layers of self-attention.
        num_summary_layers: further ones that the summaries alone have passed.
        patch_size: P, of the pictures that are read.
        options: see :class:`GridOptions`.
    """

    reads_pictures = True

    def __init__(
        self,
        sizes: EncoderSizes,
        *,
        num_layers: int,
        num_summary_layers: int = 0,
        patch_size: int,
        options: GridOptions,
    ) -> None:
        super().__init__()
        input_size = sizes.input_size
        self.input_size, self.output_size = input_size, 2 * sizes.hidden_size
        self.patch_size, self.num_summaries = patch_size, sizes.num_layers
        self.gate = create_gate(options.gate, input_size)
        self.layers = _layers(num_layers, sizes, options)
        self.num_summary_layers = num_summary_layers
        self.summary_layers = _layers(num_summary_layers, sizes, options)
        self.norm = nn.LayerNorm(input_size)
        same = input_size == self.output_size
        self.output = nn.Identity() if same else nn.Linear(input_size, self.output_size)
        self.dropout = Dropout(sizes.dropout)

    def embed(self, source: Tensor, embed_pieces: Embed) -> Tensor:
        """Embeddings (B, S, D) of cells (B, S, ...) or ids (B, S), with their positions."""
        if source.dim() == 2:
            pieces = embed_pieces(source)
            return pieces + waves(source.shape[1], pieces)
        places = Places.of(source)
        pieces = embed_pieces(source[..., 0].clamp(min=0).long())
        pieces = pieces + waves(source.shape[1], pieces)[places.number]
        grid = places.grid()
        patches = self.embed_patches(pixels_of(source, self.patch_size, pieces.dtype), grid)
        if self.gate is not None:
            patches = grid.read(self.gate(grid.lay_out(patches), grid.inside()))
        patches = patches + plane_waves(places, grid, pieces)
        return torch.where(places.patch.unsqueeze(2), patches, pieces)

    def embed_patches(self, pixels: Tensor, grid: Grid) -> Tensor:
        """Patches without positions: pixels (B, S, 3 P P) -> (B, S, D); what is no patch does not matter."""
        raise NotImplementedError

    def forward(self, embedded: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """States (B, S, 2H), and their mean for every layer of a decoder (B, L, 2H).

        With summary layers it is the mean of states that have passed these, too.
        """
        mixed = embedded
        for layer in self.layers:
            mixed = layer(mixed, mask)
        states = self._read_out(mixed, mask)
        for layer in self.summary_layers:
            mixed = layer(mixed, mask)
        last = self._read_out(mixed, mask) if self.num_summary_layers else states
        return states, mean_summary(last, mask, self.num_summaries)

    def _read_out(self, mixed: Tensor, mask: Tensor | None) -> Tensor:
        """States (B, S, 2H) from (B, S, D), zero where nothing is visible."""
        return visible(self.output(self.norm(mixed)), mask)


def _layers(number: int, sizes: EncoderSizes, options: GridOptions) -> Sequence[Layer]:
    """Layers of self-attention, a module list."""
    size = sizes.input_size
    layer = LayerOptions(
        feedforward_size=options.feedforward_size,
        feedforward="gelu",
        dropout=sizes.dropout,
        feedforward_dropout=0.0,
        norm="layer",
        pre_norm=True,
    )
    found = nn.ModuleList(
        Layer(
            size,
            MultiHead(size, size, num_heads=options.num_heads),
            FeedForward(size, layer),
            None,
            layer,
            rotary=False,
        )
        for _ in range(number)
    )
    return cast("Sequence[Layer]", found)


class PatchEncoder(PictureEncoder):
    """Patches as a sequence: Dosovitskiy et al. 2021, 3.1, without a class token.

    x = E p + waves(row, column). The paper learns one vector for each of a fixed number of places; sinusoids
    of the row and of the column serve pictures of any size. Pieces of a sentence beside the picture are
    further positions of the same sequence.

    Args:
        sizes, patch_size, options: see :class:`PictureEncoder`.
    """

    @flat_options
    def __init__(self, sizes: EncoderSizes, *, patch_size: Width, options: GridOptions = OPTIONS) -> None:
        super().__init__(sizes, num_layers=sizes.num_layers, patch_size=patch_size, options=options)
        input_size = sizes.input_size
        self.projection = nn.Linear(3 * patch_size**2, input_size)
        nn.init.xavier_uniform_(self.projection.weight)
        nn.init.zeros_(self.projection.bias)

    def embed_patches(self, pixels: Tensor, grid: Grid) -> Tensor:
        return cast(Tensor, self.projection(pixels))


class ConvolutionalEncoder(PictureEncoder):
    """A convolutional network whose feature map is a grid of states: Xu et al. 2015, 3.1.1.

    Convolutions of stride 2 halve rows and columns until one place is left for every patch; one more adds
    what the neighbouring places hold. After each come a norm over the channels, GELU, and zeros outside the
    picture, so that padding changes nothing. The paper takes a network trained on ImageNet; this one is small
    and learns with the rest.

    Args:
        sizes, options: see :class:`PictureEncoder`.
        patch_size: P, a power of 2.
        mixing_layers: layers of self-attention over the grid and the pieces of a sentence; 0 as in the paper.
        summary_layers: further ones for the state that a recurrent decoder starts from. It then knows how
            many things there are and how they stand, while each state of the grid still tells of its place.
    """

    @flat_options
    @from_file("model/encoder/convolutional.yaml")
    def __init__(
        self,
        sizes: EncoderSizes,
        *,
        patch_size: Width,
        options: GridOptions = OPTIONS,
        mixing_layers: NumFurtherLayers = YAML,
        summary_layers: NumFurtherLayers = YAML,
    ) -> None:
        super().__init__(
            sizes,
            num_layers=mixing_layers,
            num_summary_layers=summary_layers,
            patch_size=patch_size,
            options=options,
        )
        input_size = sizes.input_size
        count = int(math.log2(patch_size))
        if 2**count != patch_size or count < 1:
            raise ValueError(f"patch_size: expected a power of 2 for convolutions, got {patch_size}")
        channels = [3, *(FIRST_CHANNELS * 2**index for index in range(count - 1)), input_size]
        # All but the last are padded on one side alone: a state's field lies around the middle of its patch.
        self.convolutions = nn.ModuleList(
            nn.Conv2d(one, two, 3, stride=2, padding=int(index == count - 1))
            for index, (one, two) in enumerate(pairwise(channels))
        )
        self.channel_norms = nn.ModuleList(nn.LayerNorm(size) for size in channels[1:])
        self.neighbours = nn.Conv2d(input_size, input_size, 3, padding=1)
        self.neighbour_norm = nn.LayerNorm(input_size)

    def embed_patches(self, pixels: Tensor, grid: Grid) -> Tensor:
        maps, inside = whole_pictures(pixels, grid, self.patch_size), grid.inside()
        size = self.patch_size
        for convolution, norm in zip(self.convolutions, self.channel_norms, strict=True):
            size //= 2
            if size > 1:
                maps = F.pad(maps, (0, 1, 0, 1))
            maps = _normed(convolution(maps), norm)
            maps = maps * inside.repeat_interleave(size, 2).repeat_interleave(size, 3)
        return grid.read(maps + _normed(self.neighbours(maps), self.neighbour_norm))


def _normed(maps: Tensor, norm: nn.Module) -> Tensor:
    """GELU of maps (B, D, R, C), normalised over the channels of each place."""
    return F.gelu(norm(maps.permute(0, 2, 3, 1))).permute(0, 3, 1, 2)


def waves(number: int, like: Tensor) -> Tensor:
    """Sinusoids of the first ``number`` positions, as wide as ``like`` and of its kind: (number, D)."""
    return sinusoids(0, number, like.shape[-1], like.device).to(like.dtype)


def plane_waves(places: Places, grid: Grid, like: Tensor) -> Tensor:
    """Half of the features for the row, half for the column: (B, S, D)."""
    half = like.shape[-1] // 2
    rows = waves(grid.rows, like[..., :half])[places.row]
    return torch.cat([rows, waves(grid.columns, like[..., half:])[places.column]], dim=-1)
