"""The three backends and their encoders, under one contract: :class:`Seq2Seq`."""

from translate.models.bahdanau import BahdanauRNN
from translate.models.encoders import EncoderSizes, RNNEncoder, SelfEncoder
from translate.models.image_encoders import ConvolutionalEncoder, PatchEncoder
from translate.models.luong import LuongRNN
from translate.models.seq2seq import DecodeState, Encoded, Seq2Seq
from translate.models.transformer import Transformer

__all__ = [
    "BahdanauRNN",
    "ConvolutionalEncoder",
    "DecodeState",
    "Encoded",
    "EncoderSizes",
    "LuongRNN",
    "PatchEncoder",
    "RNNEncoder",
    "SelfEncoder",
    "Seq2Seq",
    "Transformer",
]
