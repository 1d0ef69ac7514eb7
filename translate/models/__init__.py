"""The three backends under one contract: :class:`Seq2Seq`."""

from translate.models.bahdanau import BahdanauRNN
from translate.models.encoders import EncoderSizes, RNNEncoder, SelfEncoder
from translate.models.luong import LuongRNN
from translate.models.seq2seq import Seq2Seq
from translate.models.states import DecodeState, Encoded
from translate.models.transformer import Transformer
from translate.models.vision.picture_encoders import ConvolutionalEncoder, PatchEncoder

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
