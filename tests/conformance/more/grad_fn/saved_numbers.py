import torch
import torch.nn.functional as F

x = torch.arange(6.).reshape(2, 3).requires_grad_()
y = torch.arange(24.).reshape(2, 3, 4).requires_grad_()
# whole numbers are kept without their sign, alone and in tuples
print(y.permute(-1, 0, 1).grad_fn._saved_dims)
print(x.roll(-1, -1).grad_fn._saved_shifts, x.roll(-1, -1).grad_fn._saved_dims)
print(x.flip(-1).grad_fn._saved_dims, x.sum(-1).grad_fn._saved_dim, x.mean((-1, 0)).grad_fn._saved_dim)
print(F.pad(x, (1, -1, -1, 2)).grad_fn._saved_pad)
f = x[:, -2:].grad_fn; print(f._saved_dim, f._saved_start, f._saved_end, f._saved_step)
f = x.select_scatter(torch.ones(2), -1, -1).grad_fn; print(f._saved_dim, f._saved_index)
f = x.slice_scatter(torch.ones(1, 3), 0, -1).grad_fn; print(f._saved_dim, f._saved_start, f._saved_end, f._saved_step)
f = x.diagonal_scatter(torch.ones(2), 0, -2, -1).grad_fn; print(f._saved_offset, f._saved_dim1, f._saved_dim2)
f = x.as_strided((2, 2), (1, 1)).grad_fn; print(f._saved_size, f._saved_stride)
# what takes a whole dimension is None
print(x[:, torch.tensor([0])].grad_fn._saved_indices)
print(y[torch.tensor([0]), :, torch.tensor([1])].grad_fn._saved_indices)
f = F.embedding(torch.tensor([1]), x, padding_idx=-1).grad_fn; print(f._saved_indices, f._saved_padding_idx, f._saved_scale_grad_by_freq)
