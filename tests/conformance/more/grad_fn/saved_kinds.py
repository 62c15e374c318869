import torch
x = torch.tensor([[0.5, -1.5], [2.0, 0.25]], requires_grad=True)
f = x[-1].grad_fn; print(f._saved_dim, f._saved_index, f._saved_self_sym_sizes)
f = x[torch.tensor([0, 1])].grad_fn; print(f._saved_indices)
f = x.gather(0, torch.tensor([[0, 1]])).grad_fn; print(f._saved_dim, f._saved_index)
f = x.softmax(-1).grad_fn; print(f._saved_dim, f._saved_result)
f = torch.nn.functional.mse_loss(x, x.detach() + 1).grad_fn; print(f._saved_reduction, f._saved_self is x)
f = x.masked_fill(x > 0, 0.).grad_fn; print(f._saved_mask)
f = x.sum(1, keepdim=True).grad_fn; print(f._saved_dim, f._saved_keepdim, f._saved_self_sym_sizes)
