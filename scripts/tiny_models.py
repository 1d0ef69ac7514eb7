"""Settings of the smallest models worth training, for the scripts that break runs."""

SIZES = {
    "transformer": [
        "model.width=16",
        "model.feedforward_size=24",
        "model.num_heads=2",
        "model.encoder_layers=1",
        "model.decoder_layers=2",
    ],
    "rnn_bahdanau": ["model.embedding_size=16", "model.encoder_size=12", "model.decoder_size=20"],
    "rnn_luong": ["model.embedding_size=16", "model.encoder_size=12", "model.decoder_size=20"],
}
