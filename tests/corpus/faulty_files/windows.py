import torch
from torch.utils.data import Dataset


class WindowDataset(Dataset):
    """Next token windows over a long text."""

    def __init__(self, tokens, block_size, stride=None):
        self.tokens = tokens
        self.block_size = block_size
        self.stride = stride or block_size

    def __len__(self):
        return (len(self.tokens) - self.block_size) // self.stride

    def __getitem__(self, index):
        start = index * self.stride
        chunk = self.tokens[start : start + self.block_size + 1]
        return chunk[:-1], chunk[1:]
