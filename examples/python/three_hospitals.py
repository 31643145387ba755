"""Three hospitals teach one logistic regression of scikit-learn, and show nobody a patient: epsilon 2 for each of these."""
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from spade_edge import trial, wrap

x, y = load_breast_cancer(return_X_y=True)
x = (x[:, [7, 20, 21, 27]] - [0.05, 16, 26, 0.11]) / [0.04, 5, 6, 0.07]  # four findings, scaled by what is known of women
def hospital(name): return wrap(LogisticRegression(), (x[int(name)::4], y[int(name)::4]))  # noqa: E704
for name, w in trial(hospital, ["0", "1", "2"], unit="record", epsilon=2).items():
    print(f"hospital {name}: right for {hospital('3').into_model(w).score(x[3::4], y[3::4]):.1%} of a fourth hospital's patients")
