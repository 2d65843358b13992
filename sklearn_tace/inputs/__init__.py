"""What users pass, checked: parameters, labels, probabilities, weights, classifiers.

May import ``core``.
"""
