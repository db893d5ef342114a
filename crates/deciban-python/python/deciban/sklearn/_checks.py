"""The checks of scikit-learn that estimators fail for a reason, listed as scikit-learn lists those of its own."""

from .._classifier import Classifier

#: Why a weight is not the same as repeated rows where folds choose.
FOLDS = "folds are dealt row by row: a row that is there twice may lie in two folds, a row of weight 2 lies in one"

#: Why it is not where components are found.
STARTS = "components begin at clusters of rows that are drawn, and rows that are there twice are drawn otherwise"


def expected_failed_checks(estimator):
    """The checks that an estimator fails for a reason, for the argument of `check_estimator` of the same name.

    A row of weight 2 counts as the row twice in every model of a `deciban.Classifier`. Where folds choose between models
    or settle a penalty or a calibration, the choice may be another one, as it is in scikit-learn's own searches.

    Parameters
    ----------
    estimator : object
        A classifier of this package. Other estimators have no such checks.

    Returns
    -------
    dict
        The reason by the name of the check.

    Examples
    --------
    >>> from deciban import Classifier
    >>> from deciban.sklearn import expected_failed_checks
    >>> sorted(expected_failed_checks(Classifier()))
    ['check_sample_weight_equivalence_on_dense_data', 'check_sample_weight_equivalence_on_sparse_data']
    >>> expected_failed_checks(Classifier("logistic"))
    {}
    """
    if not isinstance(estimator, Classifier):
        return {}
    is_settled = estimator.weight_decay is not None and (estimator.pairs == 0 or estimator.pair_decay is not None)
    chooses = estimator.model in ("auto", "fused") or (estimator.model == "additive" and not is_settled)
    if chooses or estimator.calibrate is not None:
        reason = FOLDS
    elif estimator.components not in (None, 1):
        reason = STARTS
    else:
        return {}
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
