"""The three backends under one contract: :class:`Seq2Seq`."""

from translate.models.bahdanau import BahdanauRNN
from translate.models.encoders import RNNEncoder, SelfEncoder
from translate.models.luong import LuongRNN
from translate.models.seq2seq import Seq2Seq
from translate.models.states import DecodeState, Encoded
from translate.models.transformer import Transformer

__all__ = [
    "BahdanauRNN",
    "DecodeState",
    "Encoded",
    "LuongRNN",
    "RNNEncoder",
    "SelfEncoder",
    "Seq2Seq",
    "Transformer",
]
