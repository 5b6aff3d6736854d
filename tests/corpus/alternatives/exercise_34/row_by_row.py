"""Row by row, word by word, until there is enough."""

import torch


def likely_words(logits, share=0.9, warmth=1.0):
    rows = []
    for row in torch.softmax(logits / warmth, dim=1):
        marks = torch.zeros_like(row)
        together = 0.0
        for place in row.argsort(descending=True).tolist():
            if together >= share:
                break
            marks[place] = 1.0
            together += float(row[place])
        left = row * marks
        rows.append(left / left.sum())
    return torch.stack(rows)
