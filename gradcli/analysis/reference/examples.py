"""Examples for what declares no samples: lines as they are typed at the prompt. They are run when they are shown, and by a test.

Keys are the names under `torch.`, or `Tensor.NAME` for what is a method only.
"""

from __future__ import annotations

from gradcli.analysis.reference import examples_autograd, examples_distributions, examples_layers, examples_utils

_X = "x = tensor([1., 2., 3.])"
_M = "m = tensor([[2., 1.], [1., 3.]])"
_W = "w = tensor([1., 2.], requires_grad=True)"

_METHODS = {
    "Tensor.backward": (_W, "(w ** 2).sum().backward()", "w.grad"),
    **{name: ("g = manual_seed(0)", f"torch.{name}(eye(3), 2)[1]") for name in ("pca_lowrank", "svd_lowrank")},
    "Tensor.lu": ("tensor([[4., 2.], [1., 3.]]).lu()",),
    **{f"Tensor.{name}": (f"tensor([[1.]]).{name}",) for name in ("eig", "lstsq", "solve", "symeig")},
    **{name: (f"torch.{name}",) for name in ("eig", "lstsq", "matrix_rank", "solve", "symeig")},
    "Tensor.register_hook": (_W, "handle = w.register_hook(lambda g: g * 10)", "(w ** 2).sum().backward()", "w.grad"),
    "Tensor.register_post_accumulate_grad_hook": (
        _W,
        "handle = w.register_post_accumulate_grad_hook(lambda p: print(p.grad))",
        "(w ** 2).sum().backward()",
        "w.grad",
    ),
    "Tensor.requires_grad_": (_X, "x.requires_grad_()"),
    "Tensor.retain_grad": (_W, "y = w * 3", "y.retain_grad()", "(y ** 2).sum().backward()", "y.grad"),
    "Tensor.item": ("tensor(2.5).item()",),
    "Tensor.tolist": (_M, "m.tolist()"),
    "Tensor.contiguous": (_M, "m.T.contiguous().is_contiguous()"),
    "Tensor.type": (_X, "x.type()", "x.type(torch.int64)"),
    "Tensor.type_as": (_X, "tensor([4, 5]).type_as(x)"),
    "Tensor.float": ("tensor([1, 2]).float()",),
    "Tensor.double": (_X, "x.double()"),
    "Tensor.half": (_X, "x.half()"),
    "Tensor.cfloat": (_X, "x.cfloat()"),
    "Tensor.cdouble": (_X, "x.cdouble()"),
    "Tensor.bfloat16": (_X, "x.bfloat16()"),
    "Tensor.int": (_X, "(x / 2).int()"),
    "Tensor.long": (_X, "(x / 2).long()"),
    "Tensor.short": (_X, "x.short()"),
    "Tensor.char": (_X, "x.char()"),
    "Tensor.byte": (_X, "x.byte()"),
    "Tensor.bool": ("tensor([0., 2.]).bool()",),
    "Tensor.cpu": (_X, "x.cpu()"),
    "Tensor.cuda": (_X, "x.cuda() if torch.cuda.is_available() else x"),
    "Tensor.reshape_as": ("arange(4).reshape_as(zeros(2, 2))",),
    "Tensor.view_as": ("arange(4).view_as(zeros(2, 2))",),
    "Tensor.expand_as": (_X, "x.expand_as(zeros(2, 3))"),
    "Tensor.size": ("m = zeros(2, 3)", "m.size()", "m.size(1)"),
    **{f"Tensor.{name}_dim": (f"zeros(2, 3).{name}_dim()",) for name in ("dense", "sparse")},
    **{
        f"Tensor.{name}": (f"tensor([1.]).{name}",)
        for name in ("is_coalesced", "coalesce", "indices", "values", "crow_indices", "col_indices", "ccol_indices", "row_indices")
    },
    "Tensor.nelement": ("zeros(2, 3).nelement()",),
    "Tensor.dim": ("zeros(2, 3).dim()",),
    "Tensor.ndimension": ("zeros(2, 3).ndimension()",),
    "Tensor.element_size": (_X, "x.element_size()"),
    "Tensor.stride": ("zeros(2, 3).stride()", "zeros(2, 3).T.stride()"),
    "Tensor.is_contiguous": ("zeros(2, 3).T.is_contiguous()",),
    "Tensor.storage_offset": (_X, "x[1:].storage_offset()"),
    "Tensor.index_put_": (_X, "x.index_put_((tensor([0, 2]),), tensor([7., 9.]))"),
    "Tensor.zero_": (_X, "x.zero_()"),
    "Tensor.copy_": (_X, "x.copy_(tensor([4, 5, 6]))"),
    "Tensor.t_": ("m = tensor([[1., 2.], [3., 4.]])", "m.t_()"),
    "Tensor.transpose_": ("zeros(2, 3).transpose_(0, 1).shape",),
    "Tensor.swapaxes_": ("zeros(2, 3).swapaxes_(0, 1).shape",),
    "Tensor.squeeze_": ("zeros(1, 3).squeeze_().shape",),
    "Tensor.unsqueeze_": ("zeros(3).unsqueeze_(0).shape",),
    "Tensor.new_zeros": (_X, "x.new_zeros(2)"),
    "Tensor.new_ones": (_X, "x.new_ones(2)"),
    "Tensor.new_empty": (_X, "x.new_empty(2, 2).shape"),
    "Tensor.new_full": (_X, "x.new_full((2,), 7.)"),
    "Tensor.new_tensor": (_X, "x.new_tensor([4, 5])"),
    "Tensor.uniform_": ("manual_seed(0)", "zeros(3).uniform_(-1, 1)"),
    "Tensor.normal_": ("manual_seed(0)", "zeros(3).normal_(0, 1)"),
    "Tensor.random_": ("manual_seed(0)", "zeros(3).random_(10)"),
    "Tensor.bernoulli_": ("manual_seed(0)", "zeros(3).bernoulli_(0.5)"),
    "Tensor.exponential_": ("manual_seed(0)", "zeros(3).exponential_()"),
}

_FUNCTIONS = {
    "from_numpy": ("a = np.array([1., 2.])", "from_numpy(a)"),
    "poisson": ("g = manual_seed(0)", "poisson(tensor([1., 4.]))"),
    "binomial": ("g = manual_seed(0)", "binomial(tensor([5.]), tensor([0.4]))"),
    "accelerator.is_available": ("torch.accelerator.is_available()",),
    "accelerator.device_count": ("torch.accelerator.device_count()",),
    "accelerator.current_accelerator": ("torch.accelerator.current_accelerator() is None",),
    "detach_": (_W, "y = w * 3", "y.detach_()"),
    "is_floating_point": (_X, "is_floating_point(x)"),
    "is_complex": (_X, "is_complex(x)"),
    "is_signed": (_X, "is_signed(x)"),
    "is_inference": (_X, "is_inference(x)"),
    "is_same_size": (_X, "is_same_size(x, zeros(3))"),
    "true_divide": (_X, "true_divide(x, 2)"),
    "subtract": (_X, "subtract(x, 1)"),
    "multiply": (_X, "multiply(x, 2)"),
    "divide": (_X, "divide(x, 2)"),
    "positive": (_X, "positive(x)"),
    "floor_divide": (_X, "floor_divide(x, 2)"),
    "ne": (_X, "ne(x, 2)"),
    "lt": (_X, "lt(x, 2)"),
    "le": (_X, "le(x, 2)"),
    "gt": (_X, "gt(x, 2)"),
    "ge": (_X, "ge(x, 2)"),
    "equal": (_X, "equal(x, x + 1)"),
    "isclose": (_X, "isclose(x, x + 1e-9)"),
    "allclose": (_X, "allclose(x, x + 1e-9)"),
    "isnan": ("isnan(tensor([1., nan]))",),
    "isinf": ("isinf(tensor([1., -inf]))",),
    "isfinite": ("isfinite(tensor([1., inf, nan]))",),
    "logical_not": ("logical_not(tensor([0., 2.]))",),
    "logical_and": ("logical_and(tensor([True, True]), tensor([True, False]))",),
    "logical_or": ("logical_or(tensor([True, False]), tensor([False, False]))",),
    "logical_xor": ("logical_xor(tensor([True, True]), tensor([True, False]))",),
    "asinh_": ("tensor([0.5]).asinh_()",),
    "acosh_": ("tensor([1.5]).acosh_()",),
    "atanh_": ("tensor([0.5]).atanh_()",),
    "selu_": ("torch.selu_(tensor([-1., 1.]))",),
    "celu_": ("torch.celu_(tensor([-1., 1.]))",),
    "rrelu_": ("torch.rrelu_(tensor([-1., 1.]), 0.25, 0.25)",),
    "nn.functional.rrelu_": ("F.rrelu_(tensor([-1., 1.]), 0.25, 0.25)",),
    "Tensor.stft": ("tensor([1., 2., 3., 4., 5.]).stft(4, window=ones(4), center=False, return_complex=True)",),
    "Tensor.istft": ("tensor([1., 2., 3., 4., 5.]).stft(4, window=ones(4), return_complex=True).istft(4, window=ones(4))",),
    "threshold_": ("torch.threshold_(tensor([-1., 1.]), 0, 9)",),
    "signbit": ("signbit(tensor([-1., 0., 1.]))",),
    "broadcast_shapes": ("broadcast_shapes((2, 1), (3,))",),
    "hsplit": ("hsplit(arange(4).reshape(2, 2), 2)",),
    "vsplit": ("vsplit(arange(4).reshape(2, 2), 2)",),
    "dsplit": ("dsplit(arange(4).reshape(1, 2, 2), 2)",),
    "index_put": (_X, "index_put(x, (tensor([0, 2]),), tensor([7., 9.]))"),
    "index_put_": (_X, "x.index_put_((tensor([0, 2]),), tensor([7., 9.]))"),
    "nonzero": ("nonzero(tensor([0., 5., 6.]))",),
    "argwhere": ("argwhere(tensor([0., 5., 6.]))",),
    "fill_": (_X, "x.fill_(7)"),
    "zero_": (_X, "x.zero_()"),
    "slogdet": (_M, "slogdet(m)"),
    "linalg.slogdet": (_M, "torch.linalg.slogdet(m)"),
    "matrix_power": (_M, "matrix_power(m, 2)"),
    "linalg.matrix_power": (_M, "torch.linalg.matrix_power(m, 2)"),
    "cholesky": (_M, "torch.cholesky(m)"),
    "svd": (_M, "torch.svd(m).S"),
    "pinverse": (_M, "pinverse(m)"),
    "linalg.matrix_rank": (_M, "torch.linalg.matrix_rank(m)"),
    "linalg.pinv": (_M, "torch.linalg.pinv(m)"),
    "numel": ("numel(zeros(2, 3))",),
    "as_tensor": ("as_tensor([1, 2])",),
    "asarray": ("asarray([1, 2])",),
    "empty": ("empty(2, 2).shape",),
    "zeros_like": (_X, "zeros_like(x)"),
    "ones_like": (_X, "ones_like(x)"),
    "empty_like": (_X, "empty_like(x).shape"),
    "full_like": (_X, "full_like(x, 7)"),
    "logspace": ("logspace(0, 2, 3)",),
    "scalar_tensor": ("scalar_tensor(2.5)",),
    "tril_indices": ("tril_indices(2, 2)",),
    "triu_indices": ("triu_indices(2, 2)",),
    "rand": ("manual_seed(0)", "rand(3)"),
    "randn": ("manual_seed(6)", "randn(3)"),
    "rand_like": ("manual_seed(0)", "rand_like(zeros(3))"),
    "randn_like": ("manual_seed(0)", "randn_like(zeros(3))"),
    "randint": ("manual_seed(0)", "randint(0, 10, (3,))"),
    "randint_like": ("manual_seed(0)", "randint_like(zeros(3), 10)"),
    "randperm": ("manual_seed(0)", "randperm(4)"),
    "normal": ("manual_seed(0)", "normal(0., 1., (3,))"),
    "bernoulli": ("manual_seed(0)", "bernoulli(tensor([0.1, 0.9]))"),
    "multinomial": ("manual_seed(0)", "multinomial(tensor([1., 1., 8.]), 2)"),
    "nn.functional.dropout": ("manual_seed(0)", "F.dropout(ones(4), 0.5)"),
    "dropout": ("manual_seed(0)", "dropout(ones(4), 0.5, True)"),
}

_SETTINGS = {
    "manual_seed": ("g = manual_seed(6)", "randn(3)"),
    "seed": ("s = torch.seed()", "torch.initial_seed() == s"),
    "initial_seed": ("g = manual_seed(6)", "torch.initial_seed()"),
    "get_rng_state": ("torch.get_rng_state().shape",),
    "random.fork_rng": ("with torch.random.fork_rng(): x = rand(1)", "equal(x, rand(1))"),
    "set_rng_state": ("s = torch.get_rng_state()", "x = rand(2)", "torch.set_rng_state(s)", "equal(x, rand(2))"),
    "Generator": ("g = torch.Generator().manual_seed(6)", "randn(3, generator=g)"),
    "default_generator": ("torch.default_generator.manual_seed(6).initial_seed()",),
    "get_default_dtype": ("get_default_dtype()",),
    "set_default_dtype": ("set_default_dtype(torch.float64)", "tensor([1.]).dtype"),
    "set_printoptions": ("set_printoptions(precision=2)", "tensor([1.23456])"),
    "promote_types": ("promote_types(torch.int64, torch.float32)",),
    "result_type": ("result_type(tensor([1]), 2.5)",),
    "can_cast": ("can_cast(torch.float32, torch.int64)",),
    "is_tensor": ("is_tensor([1, 2])",),
    "set_num_threads": ("torch.set_num_threads(1)", "torch.get_num_threads()"),
    "get_num_threads": ("torch.set_num_threads(1)", "torch.get_num_threads()"),
    "use_deterministic_algorithms": ("torch.use_deterministic_algorithms(True)", "ones(2).sum()"),
    "device": ("torch.device('cpu')",),
    "finfo": ("torch.finfo(torch.float32).eps",),
    "iinfo": ("torch.iinfo(torch.int64).max",),
    "Tensor": ("torch.Tensor([1, 2])", "isinstance(ones(2), torch.Tensor)"),
    "FloatTensor": ("torch.FloatTensor([1, 2])",),
    "DoubleTensor": ("torch.DoubleTensor([1, 2])",),
    "LongTensor": ("torch.LongTensor([1, 2])",),
    "IntTensor": ("torch.IntTensor([1, 2])",),
    "ShortTensor": ("torch.ShortTensor([1, 2])",),
    "CharTensor": ("torch.CharTensor([1, 2])",),
    "ByteTensor": ("torch.ByteTensor([1, 2])",),
    "HalfTensor": ("torch.HalfTensor([1, 2])",),
    "BFloat16Tensor": ("torch.BFloat16Tensor([1, 2])",),
    "BoolTensor": ("torch.BoolTensor([0, 1])",),
    "Size": ("torch.Size([2, 3]).numel()",),
    "dtype": ("isinstance(torch.float32, torch.dtype)",),
    "strided": ("torch.strided",),
    "contiguous_format": ("torch.contiguous_format",),
    "preserve_format": ("torch.preserve_format",),
    "channels_last": ("torch.empty(1, 3, 2, 2, memory_format=torch.channels_last).stride()",),
    "channels_last_3d": ("torch.empty(1, 3, 2, 2, 2, memory_format=torch.channels_last_3d).stride()",),
    "set_flush_denormal": ("torch.set_flush_denormal(False)",),
}

_MODULES = {
    "nn.Module": ("isinstance(nn.Linear(1, 1), nn.Module)",),
    "nn.Linear": ("g = manual_seed(0)", "nn.Linear(2, 1)(tensor([1., 2.]))"),
    "nn.Identity": ("nn.Identity()(tensor([1., 2.]))",),
    "nn.Flatten": ("nn.Flatten()(zeros(2, 3, 4)).shape",),
    "nn.Dropout": ("g = manual_seed(0)", "nn.Dropout(0.5)(ones(4))"),
    "nn.Embedding": ("g = manual_seed(0)", "nn.Embedding(10, 2)(tensor([3, 3]))"),
    "nn.LayerNorm": ("nn.LayerNorm(3)(tensor([1., 2., 4.]))",),
    "nn.BatchNorm1d": ("nn.BatchNorm1d(2)(tensor([[1., 2.], [3., 6.]]))",),
    "nn.Sequential": ("g = manual_seed(0)", "nn.Sequential(nn.Linear(2, 2), nn.ReLU())(ones(2))"),
    "nn.ModuleList": ("len(nn.ModuleList([nn.ReLU(), nn.Tanh()]))",),
    "nn.Buffer": ("nn.Buffer(tensor([1., 2.]), persistent=False)",),
    "nn.Parameter": ("nn.Parameter(tensor([1., 2.]))",),
    "nn.Threshold": ("nn.Threshold(0.5, 9.)(tensor([0., 1.]))",),
    "nn.Softmax": ("nn.Softmax(dim=0)(tensor([0., 1.]))",),
    "nn.LogSoftmax": ("nn.LogSoftmax(dim=0)(tensor([0., 1.]))",),
    "nn.Softmin": ("nn.Softmin(dim=0)(tensor([0., 1.]))",),
    "nn.GLU": ("nn.GLU()(tensor([1., 2., 0., 0.]))",),
    "nn.CrossEntropyLoss": ("nn.CrossEntropyLoss()(tensor([[2., 0., 1.]]), tensor([0]))",),
    "nn.NLLLoss": ("nn.NLLLoss()(tensor([[-0.5, -1., -2.]]), tensor([0]))",),
    "nn.BCELoss": ("nn.BCELoss()(tensor([0.9, 0.2]), tensor([1., 0.]))",),
    "nn.KLDivLoss": ("nn.KLDivLoss(reduction='sum')(tensor([0.5, 0.5]).log(), tensor([0.25, 0.75]))",),
    "nn.GaussianNLLLoss": ("nn.GaussianNLLLoss()(tensor([1., 2.]), tensor([1.5, 2.]), ones(2))",),
    "nn.HingeEmbeddingLoss": ("nn.HingeEmbeddingLoss()(tensor([0.5, 2.]), tensor([1., -1.]))",),
    "nn.MarginRankingLoss": ("nn.MarginRankingLoss()(tensor([1., 2.]), tensor([2., 1.]), tensor([1., 1.]))",),
    "nn.CosineEmbeddingLoss": ("nn.CosineEmbeddingLoss()(tensor([[1., 0.]]), tensor([[1., 1.]]), tensor([1.]))",),
    "nn.SoftMarginLoss": ("nn.SoftMarginLoss()(tensor([0.5, 2.]), tensor([1., -1.]))",),
    "nn.TripletMarginLoss": ("nn.TripletMarginLoss()(tensor([[1., 0.]]), tensor([[1., 1.]]), tensor([[0., 3.]]))",),
    "nn.utils.clip_grad_norm_": (_W, "(w ** 2).sum().backward()", "nn.utils.clip_grad_norm_([w], 1.)", "w.grad"),
    "nn.utils.clip_grad_value_": (_W, "(w ** 2).sum().backward()", "nn.utils.clip_grad_value_([w], 3.)", "w.grad"),
    "nn.utils.get_total_norm": ("nn.utils.get_total_norm([tensor([3.]), tensor([4.])])",),
    "nn.utils.parameters_to_vector": ("nn.utils.parameters_to_vector([ones(2), zeros(1)])",),
    "nn.utils.vector_to_parameters": ("w = zeros(2)", "nn.utils.vector_to_parameters(tensor([1., 2.]), [w])", "w"),
    "nn.init.calculate_gain": ("nn.init.calculate_gain('relu')",),
    "nn.init.uniform_": ("g = manual_seed(0)", "nn.init.uniform_(zeros(3))"),
    "nn.init.normal_": ("g = manual_seed(0)", "nn.init.normal_(zeros(3))"),
    "nn.init.constant_": ("nn.init.constant_(zeros(3), 0.5)",),
    "nn.init.ones_": ("nn.init.ones_(zeros(3))",),
    "nn.init.zeros_": ("nn.init.zeros_(ones(3))",),
}

_OPTIM = {
    "optim.LBFGS": (
        _W,
        "optimizer = optim.LBFGS([w])",
        "def closure():\n    optimizer.zero_grad()\n    loss = (w ** 2).sum()\n    loss.backward()\n    return loss",
        "optimizer.step(closure)",
    ),
    "optim.Muon": (
        "w = ones(2, 2, requires_grad=True)",
        "optimizer = optim.Muon([w], lr=0.1)",
        "(w ** 2).sum().backward()",
        "optimizer.step()",
        "w",
    ),
    "optim.SparseAdam": (_W, "optim.SparseAdam([w])"),
    "optim.Optimizer": (_W, "isinstance(optim.SGD([w]), optim.Optimizer)"),
}

#: how a schedule is made after `o`, an optimiser
_SCHEDULES = {
    "StepLR": "(o, 1)",
    "MultiStepLR": "(o, [1, 2])",
    "ExponentialLR": "(o, 0.5)",
    "CosineAnnealingLR": "(o, 4)",
    "LambdaLR": "(o, lambda epoch: 1 / (epoch + 1))",
    "MultiplicativeLR": "(o, lambda epoch: 0.5)",
    "ConstantLR": "(o)",
    "LinearLR": "(o)",
    "PolynomialLR": "(o)",
    "CosineAnnealingWarmRestarts": "(o, 4)",
    "OneCycleLR": "(o, 0.1, total_steps=10)",
    "SequentialLR": "(o, [optim.lr_scheduler.ConstantLR(o), optim.lr_scheduler.ExponentialLR(o, 0.5)], [1])",
    "ChainedScheduler": "([optim.lr_scheduler.ExponentialLR(o, 0.5)])",
    "CyclicLR": "(o, 0.1, 0.5, step_size_up=2, cycle_momentum=False)",
}

_PAIR = "s = [tensor([1., 2., 3.]), tensor([4.])]"
_PACKED = "p = nn.utils.rnn.pack_sequence(s)"
_PACKING = {
    "pack_sequence": (_PAIR, "nn.utils.rnn.pack_sequence(s)"),
    "PackedSequence": (_PAIR, _PACKED, "isinstance(p, nn.utils.rnn.PackedSequence)"),
    "pad_sequence": (_PAIR, "nn.utils.rnn.pad_sequence(s, batch_first=True)"),
    "invert_permutation": ("nn.utils.rnn.invert_permutation(tensor([2, 0, 1]))",),
    "pad_packed_sequence": (_PAIR, _PACKED, "nn.utils.rnn.pad_packed_sequence(p)"),
    "pack_padded_sequence": ("nn.utils.rnn.pack_padded_sequence(tensor([[1., 4.], [2., 0.]]), [2, 1])",),
    "unpack_sequence": (_PAIR, _PACKED, "nn.utils.rnn.unpack_sequence(p)"),
    "unpad_sequence": ("nn.utils.rnn.unpad_sequence(tensor([[1., 4.], [2., 0.]]), tensor([2, 1]))",),
}

_DATA = {
    **{f"nn.utils.rnn.{name}": lines for name, lines in _PACKING.items()},
    "utils.data.IterableDataset": ("isinstance([1, 2], torch.utils.data.IterableDataset)",),
    "Tensor.geometric_": ("g = manual_seed(0)", "zeros(2).geometric_(0.5)"),
    "Tensor.cauchy_": ("g = manual_seed(0)", "zeros(2).cauchy_()"),
    "Tensor.log_normal_": ("g = manual_seed(0)", "zeros(2).log_normal_()"),
    "utils.data.Dataset": ("isinstance(torch.utils.data.TensorDataset(ones(2)), torch.utils.data.Dataset)",),
    "utils.data.TensorDataset": ("torch.utils.data.TensorDataset(arange(4), ones(4))[1]",),
    "utils.data.Subset": ("torch.utils.data.Subset([5, 6, 7], [2, 0])[0]",),
    "utils.data.ConcatDataset": ("torch.utils.data.ConcatDataset([[5, 6], [7]])[2]",),
    "utils.data.ChainDataset": (
        "isinstance(torch.utils.data.ChainDataset([]), torch.utils.data.IterableDataset)",
        "list(torch.utils.data.ChainDataset([]))",
    ),
    "utils.data.Sampler": ("isinstance(torch.utils.data.SequentialSampler([5, 6]), torch.utils.data.Sampler)",),
    "utils.data.SequentialSampler": ("list(torch.utils.data.SequentialSampler([5, 6]))",),
    "utils.data.RandomSampler": ("g = manual_seed(0)", "list(torch.utils.data.RandomSampler([5, 6, 7]))"),
    "utils.data.BatchSampler": ("list(torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler([5, 6, 7]), 2, False))",),
    "utils.data.SubsetRandomSampler": ("g = manual_seed(0)", "list(torch.utils.data.SubsetRandomSampler([5, 6, 7]))"),
    "utils.data.WeightedRandomSampler": ("g = manual_seed(0)", "list(torch.utils.data.WeightedRandomSampler([1., 3.], 5))"),
    "utils.data.StackDataset": ("torch.utils.data.StackDataset([5, 6], ['a', 'b'])[1]",),
    "utils.data.get_worker_info": ("torch.utils.data.get_worker_info() is None",),
    "utils.data.DataLoader": ("list(torch.utils.data.DataLoader(arange(5), batch_size=2))",),
    "utils.data.random_split": ("g = manual_seed(0)", "[s.indices for s in torch.utils.data.random_split([5, 6, 7], [2, 1])]"),
    "utils.data.default_collate": ("torch.utils.data.default_collate([(1, 2.), (3, 4.)])",),
    "utils.data.default_convert": ("torch.utils.data.default_convert((np.array([0, 1]), 2))",),
    "nn.init.sparse_": ("g = manual_seed(0)", "nn.init.sparse_(zeros(2, 2), 0.5)"),
    "func.functional_call": ("m = nn.Linear(1, 1)", "torch.func.functional_call(m, {'weight': ones(1, 1), 'bias': ones(1)}, ones(1))"),
}

EXAMPLES: dict[str, tuple[str, ...]] = {
    **_METHODS,
    **_FUNCTIONS,
    **examples_autograd.EXAMPLES,
    **examples_distributions.EXAMPLES,
    **_SETTINGS,
    **_MODULES,
    **_OPTIM,
    **_DATA,
    **examples_layers.LAYERS,
    **examples_utils.EXAMPLES,
}


_MASKED = {
    "logaddexp": "torch.masked.logaddexp(tensor([1., 2.]), tensor([3., 4.]), input_mask=tensor([True, False]))",
    "normalize": "torch.masked.normalize(tensor([3., 4.]), 2., 0, mask=tensor([True, False]))",
}


def lines(name: str) -> tuple[str, ...]:
    """The example of a name, typed line by line; () where there is none."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    place, _, last = name.rpartition(".")
    if place == "distributions.constraints":
        return examples_distributions.lines_of_constraint(last)
    if place == "optim":
        return (_W, f"optimizer = optim.{last}([w], lr=0.1)", "(w ** 2).sum().backward()", "optimizer.step()", "w")
    if place == "optim.lr_scheduler":
        return _schedule(last)
    if place == "nn" and last.endswith("Loss"):
        return (f"nn.{last}()(tensor([1., 2.]), tensor([1.5, 4.]))",)
    if place == "nn":
        return (f"nn.{last}()(tensor([-1., 0., 2.]))",)
    if place in ("nn.grad", "nn.functional.grad"):
        sizes = "1, " * int(last[4]) + "2"
        given = f"(1, {sizes}), ones(1, {sizes})" if last.endswith("input") else f"ones(1, {sizes}), (1, {sizes})"
        return (f"{name}({given}, ones({', '.join('1' * (int(last[4]) + 2))}))",)
    if place == "nn.init":
        return ("g = manual_seed(0)", f"{name}(zeros(2, 2))")
    if place == "masked":
        return (_MASKED.get(last, f"torch.{name}(tensor([[1., 2.], [3., 4.]]), 1, mask=tensor([True, False]))"),)
    if place == "signal.windows":
        return (f"torch.{name}(5{', a=[0.5, 0.5]' if last == 'general_cosine' else ''})",)
    if place in ("random", "autograd", "nn.parameter"):
        return lines(f"nn.{last}") if place == "nn.parameter" else lines(last)
    return ()


def _schedule(name: str) -> tuple[str, ...]:
    made = f"optim.lr_scheduler.{name}"
    start = "o = optim.SGD([ones(1, requires_grad=True)], lr=0.1)"
    if name == "LRScheduler":
        return (start, f"isinstance(optim.lr_scheduler.StepLR(o, 1), {made})")
    if name == "ReduceLROnPlateau":
        return (start, f"s = {made}(o, patience=0)", "s.step(1.0)", "s.step(1.0)", "s.get_last_lr()")
    return (start, f"s = {made}{_SCHEDULES[name]}", "o.step()", "s.step()", "s.get_last_lr()")
