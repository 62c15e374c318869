"""Examples of the layers of neural networks that declare no samples."""

from __future__ import annotations

_SEED = "g = manual_seed(0)"
_ROW = "x = arange(6.).reshape(1, 1, 6)"
_IMAGE = "x = arange(16.).reshape(1, 1, 4, 4)"
_VOLUME = "x = arange(64.).reshape(1, 1, 4, 4, 4)"
_INPUTS = {"1d": _ROW, "2d": _IMAGE, "3d": _VOLUME}

_FUNCTIONS = {
    "convolution": (_ROW, "convolution(x, ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)"),
    "max_pool1d": (_ROW, "max_pool1d(x, 2)"),
    "max_pool1d_with_indices": (_ROW, "torch.max_pool1d_with_indices(x, 2)"),
    "max_pool2d": (_IMAGE, "max_pool2d(x, 2)"),
    "max_pool3d": (_VOLUME, "max_pool3d(x, 4)"),
    "adaptive_max_pool1d": (_ROW, "torch.adaptive_max_pool1d(x, 2)"),
    "group_norm": (_ROW, "group_norm(x, 1)"),
    "instance_norm": (_ROW, "instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False)"),
    "constant_pad_nd": (_ROW, "torch.constant_pad_nd(x, (1, 0), 9.)"),
    "feature_dropout": (_SEED, "torch.feature_dropout(ones(1, 4), 0.5, True)"),
    "alpha_dropout": (_SEED, "torch.alpha_dropout(ones(4), 0.5, True)"),
    "feature_alpha_dropout": (_SEED, "torch.feature_alpha_dropout(ones(1, 4), 0.5, True)"),
    "feature_dropout_": (_SEED, "torch.feature_dropout_(ones(1, 4), 0.5, True)"),
    "alpha_dropout_": (_SEED, "torch.alpha_dropout_(ones(4), 0.5, True)"),
    "feature_alpha_dropout_": (_SEED, "torch.feature_alpha_dropout_(ones(1, 4), 0.5, True)"),
    "nn.functional.adaptive_max_pool1d_with_indices": (_ROW, "F.adaptive_max_pool1d_with_indices(x, 2)"),
    "nn.functional.adaptive_max_pool2d_with_indices": (_IMAGE, "F.adaptive_max_pool2d_with_indices(x, 2)"),
    "nn.functional.adaptive_max_pool3d_with_indices": (_VOLUME, "F.adaptive_max_pool3d_with_indices(x, 1)"),
    "nn.functional.max_pool1d_with_indices": (_ROW, "F.max_pool1d_with_indices(x, 2)"),
    "nn.functional.max_pool2d_with_indices": (_IMAGE, "F.max_pool2d_with_indices(x, 2)"),
    "nn.functional.max_pool3d_with_indices": (_VOLUME, "F.max_pool3d_with_indices(x, 4)"),
    "nn.functional.rms_norm": ("F.rms_norm(tensor([3., 4.]), (2,))",),
    "nn.functional.gumbel_softmax": (_SEED, "F.gumbel_softmax(tensor([1., 2., 0.]), hard=True)"),
    **{
        f"nn.functional.{name}_": (f"F.{name}_(tensor([-1., 2.]){more})",)
        for name, more in (
            ("relu", ""),
            ("selu", ""),
            ("celu", ""),
            ("elu", ""),
            ("hardtanh", ""),
            ("leaky_relu", ""),
            ("threshold", ", 0., 9."),
        )
    },
    "nn.functional.upsample": (_ROW, "F.upsample(x, 3)"),
    "nn.functional.upsample_nearest": (_ROW, "F.upsample_nearest(x, 3)"),
    "nn.functional.upsample_bilinear": (_IMAGE, "F.upsample_bilinear(x, 2)"),
    "nn.functional.dropout1d": (_SEED, "F.dropout1d(ones(1, 4, 2), 0.5)"),
    "nn.functional.dropout2d": (_SEED, "F.dropout2d(ones(1, 4, 1, 2), 0.5)"),
    "nn.functional.dropout3d": (_SEED, "F.dropout3d(ones(1, 2, 1, 1, 2), 0.5)"),
    "nn.functional.alpha_dropout": (_SEED, "F.alpha_dropout(ones(4), 0.5, True)"),
    "nn.functional.feature_alpha_dropout": (_SEED, "F.feature_alpha_dropout(ones(1, 4), 0.5, True)"),
}

#: what follows the name of a layer of so many dimensions
_CALLS = {
    "Conv": "(1, 1, 2)(x).shape",
    "ConvTranspose": "(1, 1, 2)(x).shape",
    "MaxPool": "(2)(x)",
    "AvgPool": "(2)(x)",
    "AdaptiveAvgPool": "(2)(x)",
    "AdaptiveMaxPool": "(2)(x)",
    "LPPool": "(2, 2)(x)",
    "InstanceNorm": "(1)(x).sum()",
    "Dropout": "(0.5)(x).shape",
    "ConstantPad": "(1, 9.)(x).shape",
    "ZeroPad": "(1)(x).shape",
    "ReflectionPad": "(1)(x).shape",
    "ReplicationPad": "(1)(x).shape",
    "CircularPad": "(1)(x).shape",
}
_SIZED = {f"nn.{name}{size}": (given, f"nn.{name}{size}{call}") for name, call in _CALLS.items() for size, given in _INPUTS.items()}
_MODULES = {
    "nn.FeatureAlphaDropout": (_SEED, "nn.FeatureAlphaDropout()(ones(1, 4))"),
    "nn.BatchNorm2d": (_IMAGE, "nn.BatchNorm2d(1)(x).sum()"),
    "nn.BatchNorm3d": (_VOLUME, "nn.BatchNorm3d(1)(x).sum()"),
    "nn.GroupNorm": ("nn.GroupNorm(1, 2)(tensor([[1., 3.]]))",),
    "nn.SyncBatchNorm": ("nn.SyncBatchNorm(2)(tensor([[1., 2.], [3., 5.]]))",),
    "nn.CrossMapLRN2d": ("nn.CrossMapLRN2d(2)(ones(1, 2, 1, 1))",),
    "nn.RMSNorm": ("nn.RMSNorm(2)(tensor([3., 4.]))",),
    "nn.LocalResponseNorm": (_ROW, "nn.LocalResponseNorm(2)(x)"),
    "nn.Unflatten": ("nn.Unflatten(0, (2, 2))(arange(4))",),
    "nn.PixelShuffle": ("nn.PixelShuffle(2)(arange(4).reshape(4, 1, 1))",),
    "nn.PixelUnshuffle": (_IMAGE, "nn.PixelUnshuffle(2)(x).shape"),
    "nn.ChannelShuffle": ("nn.ChannelShuffle(2)(arange(4).reshape(1, 4, 1))",),
    "nn.DataParallel": (_SEED, "nn.DataParallel(nn.Linear(2, 1))(ones(1, 2)).shape"),
    "nn.Upsample": (_ROW, "nn.Upsample(3)(x)"),
    "nn.UpsamplingNearest2d": (_IMAGE, "nn.UpsamplingNearest2d(2)(x)"),
    "nn.UpsamplingBilinear2d": (_IMAGE, "nn.UpsamplingBilinear2d(2)(x)"),
    **{f"nn.{name}": (_SEED, f"nn.{name}(1, 2)(ones(3, 1))[1]") for name in ("RNN", "LSTM", "GRU")},
    **{f"nn.{name}": (_SEED, f"nn.{name}(1, 2)(ones(1))") for name in ("RNNCell", "LSTMCell", "GRUCell")},
    "nn.Transformer": (_SEED, "nn.Transformer(2, 1, 1, 1, 4, batch_first=True)(ones(1, 2, 2), ones(1, 1, 2)).shape"),
    "nn.TransformerEncoderLayer": (_SEED, "nn.TransformerEncoderLayer(2, 1, 4, 0.)(ones(3, 2)).shape"),
    "nn.TransformerEncoder": (_SEED, "nn.TransformerEncoder(nn.TransformerEncoderLayer(2, 1, 4, 0.), 2)(ones(3, 2)).shape"),
    "nn.TransformerDecoderLayer": (_SEED, "nn.TransformerDecoderLayer(2, 1, 4, 0.)(ones(3, 2), ones(2, 2)).shape"),
    "nn.TransformerDecoder": (_SEED, "nn.TransformerDecoder(nn.TransformerDecoderLayer(2, 1, 4, 0.), 2)(ones(3, 2), ones(2, 2)).shape"),
    "nn.MultiheadAttention": (_SEED, "nn.MultiheadAttention(2, 1)(ones(3, 2), ones(3, 2), ones(3, 2))[1]"),
    "nn.CosineSimilarity": ("nn.CosineSimilarity(0)(tensor([1., 0.]), tensor([1., 1.]))",),
    "nn.PairwiseDistance": ("nn.PairwiseDistance()(tensor([3., 4.]), zeros(2))",),
    "nn.Bilinear": (_SEED, "nn.Bilinear(1, 2, 1)(ones(1), ones(2))"),
    "nn.Softmax2d": ("nn.Softmax2d()(zeros(2, 1, 1))",),
    "nn.MultiMarginLoss": ("nn.MultiMarginLoss()(tensor([0.5, 2., 1.]), tensor(1))",),
    "nn.MultiLabelMarginLoss": ("nn.MultiLabelMarginLoss()(tensor([0.5, 2., 1.]), tensor([1, -1, 0]))",),
    "nn.MultiLabelSoftMarginLoss": ("nn.MultiLabelSoftMarginLoss()(tensor([0.5, 2.]), tensor([1., 0.]))",),
    "nn.TripletMarginWithDistanceLoss": ("nn.TripletMarginWithDistanceLoss()(tensor([[1., 0.]]), tensor([[1., 1.]]), tensor([[0., 3.]]))",),
    "nn.init.dirac_": ("nn.init.dirac_(zeros(1, 1, 3))",),
    "nn.init.dirac": ("nn.init.dirac(zeros(1, 1, 3))",),
    "nn.init.constant": ("nn.init.constant(zeros(3), 0.5)",),
    "nn.init.sparse": (_SEED, "nn.init.sparse(zeros(2, 2), 0.5)"),
    "nn.EmbeddingBag": (_SEED, "nn.EmbeddingBag(4, 2)(tensor([[0, 1], [2, 3]]))"),
    "nn.Unfold": (_IMAGE, "nn.Unfold(3)(x).shape"),
    "nn.Fold": ("nn.Fold((2, 3), (1, 2))(ones(1, 2, 4))",),
    "nn.RNNBase": ("isinstance(nn.LSTM(1, 2), nn.RNNBase)",),
    "nn.ModuleDict": ("nn.ModuleDict({'a': nn.ReLU()})['a']",),
    "nn.ParameterList": ("nn.ParameterList([ones(2)])[0]",),
    "nn.ParameterDict": ("nn.ParameterDict({'w': ones(2)})['w']",),
}

LAYERS: dict[str, tuple[str, ...]] = {**_FUNCTIONS, **_SIZED, **_MODULES}
