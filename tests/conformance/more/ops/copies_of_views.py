import torch

x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], requires_grad=True)
o = torch.ones(1, 3, 1, requires_grad=True)
copies = {
    "alias": torch.alias_copy(x),
    "as_strided": torch.as_strided_copy(x, (2, 2), (1, 2), 1),
    "diagonal": torch.diagonal_copy(x, 1),
    "expand": torch.expand_copy(o, (2, -1, 2)),
    "narrow": torch.narrow_copy(x, 1, 1, 2),
    "permute": torch.permute_copy(x, (-1, 0)),
    "select": torch.select_copy(x, 0, -1),
    "slice": torch.slice_copy(x, 1, 0, None, 2),
    "squeeze": torch.squeeze_copy(o),
    "squeeze 0": torch.squeeze_copy(o, 0),
    "squeeze both": torch.squeeze_copy(o, (0, 2)),
    "t": torch.t_copy(x),
    "transpose": torch.transpose_copy(x, 0, -1),
    "unfold": torch.unfold_copy(x, 1, 2, 1),
    "unsqueeze": torch.unsqueeze_copy(x, -1),
    "view": torch.view_copy(x.t(), (-1, 2)),
}
for name, copy in copies.items():
    print(name, tuple(copy.shape), copy.is_contiguous(), copy)
    x.grad = o.grad = None
    (copy * torch.arange(1.0, copy.numel() + 1).view(copy.shape)).sum().backward()
    print(x.grad, o.grad)
for parts in (
    torch.split_copy(x, 2, 1),
    torch.split_with_sizes_copy(x, [1, 2], 1),
    torch.unbind_copy(x, 1),
    torch.unsafe_split(x, 2, 1),
    torch.unsafe_split_with_sizes(x, (2, 1), 1),
    torch.unsafe_chunk(x, 2, 1),
):
    print(parts)
    x.grad = None
    sum((k + 1) * part.pow(2).sum() for k, part in enumerate(parts)).backward()
    print(x.grad)

# the memory is not shared, but for the unsafe ones, whose writes nobody counts
y = x * 1
torch.t_copy(y).zero_()
print(y, y._version)
first, second = torch.unsafe_split(y, 1)
first.mul_(10)
print(y, y._version)

# sizes of the tensor itself
z = torch.arange(6.0)
print(z.resize_(2, 3), z._version, z.resize_(2, 2))
print(torch.ones(4).resize_as_(torch.ones(2, 2, requires_grad=True)))
print((x * 1).as_strided_((2, 2), (1, 2)))
filled = (x * 1).fill_diagonal_(9.0)
print(filled, filled.grad_fn.next_functions[0][0].name())
print(torch.zeros(7, 3).fill_diagonal_(1, wrap=True))
print(torch.as_strided_scatter(x, torch.zeros(2, requires_grad=True), (2,), (4,)))
print(torch.arange(4.0).apply_(lambda v: v * v + 1), torch.ones(3).map_(torch.arange(3.0), lambda a, b: a - b))


def told(run):
    try:
        print(run())
    except Exception as error:
        print(type(error).__name__, error)


told(lambda: x.resize_(6))
told(lambda: (x * 1).resize_(6))
told(lambda: x.apply_(lambda v: v))
told(lambda: torch.ones(2).map_(torch.ones(2).double(), lambda a, b: a))
told(lambda: torch.ones(3).fill_diagonal_(1))
told(lambda: torch.zeros(3, 2, 3).fill_diagonal_(1))
told(lambda: torch.as_strided_scatter(x, torch.zeros(3), (2,), (4,)))
told(lambda: torch.narrow_copy(x, 1, 2, 2))
told(lambda: torch.detach_copy(x).sum().backward())
told(lambda: torch.slice_copy(torch.tensor(1.0)))
told(lambda: torch.permute_copy(x, (0, 0)))
told(lambda: torch.ones(2, 3, 4).mH.shape)
told(lambda: torch.ones(3).mH)
told(lambda: torch.ones(3).adjoint())
told(lambda: torch.tensor(2.0).mH)
told(lambda: torch.tensor(2.0).adjoint())
