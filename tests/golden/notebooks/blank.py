# %%
import torch

torch.manual_seed(123)
print(torch.randn(2, 3))

# %%
# The figures are the notebook's own.
