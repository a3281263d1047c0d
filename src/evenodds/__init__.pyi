"""The public names, for type checkers; `__init__.py` loads them when first used."""

from evenodds.anchors import Anchors as Anchors
from evenodds.errors import (
    AnchorError as AnchorError,
)
from evenodds.errors import (
    EvenoddsError as EvenoddsError,
)
from evenodds.errors import (
    EvenoddsWarning as EvenoddsWarning,
)
from evenodds.errors import (
    ImprecisionWarning as ImprecisionWarning,
)
from evenodds.errors import (
    InputError as InputError,
)
from evenodds.errors import (
    MissingExtraError as MissingExtraError,
)
from evenodds.inference.asymmetry import asymmetry_test as asymmetry_test
from evenodds.inference.audit.annotators import AnnotatorAuditResult as AnnotatorAuditResult
from evenodds.inference.audit.annotators import annotator_audit as annotator_audit
from evenodds.inference.audit.as_evidence import Audit as Audit
from evenodds.inference.audit.audit_test import audit_test as audit_test
from evenodds.inference.audit.result import AuditTestResult as AuditTestResult
from evenodds.inference.audit.share import CorrectedShareResult as CorrectedShareResult
from evenodds.inference.audit.share import GroupSharesResult as GroupSharesResult
from evenodds.inference.audit.share import corrected_share as corrected_share
from evenodds.inference.bootstrap import Bootstrap as Bootstrap
from evenodds.inference.boundary import Boundary as Boundary
from evenodds.inference.boundary import Joint as Joint
from evenodds.inference.cases.choose import choose_cases as choose_cases
from evenodds.inference.cases.record import Cases as Cases
from evenodds.inference.contour.contour_test import contour_test as contour_test
from evenodds.inference.contour.result import ContourTestResult as ContourTestResult
from evenodds.inference.line.class_line import ClassLineResult as ClassLineResult
from evenodds.inference.line.line_test import line_test as line_test
from evenodds.inference.line.result import LineTestResult as LineTestResult
from evenodds.inference.local import Local as Local
from evenodds.inference.multiclass.confusion import (
    ConfusionTestResult as ConfusionTestResult,
)
from evenodds.inference.multiclass.confusion import confusion_test as confusion_test
from evenodds.inference.multiclass.confusion_strata import (
    StratifiedConfusionResult as StratifiedConfusionResult,
)
from evenodds.inference.multiclass.multiclass_test import multiclass_test as multiclass_test
from evenodds.inference.multiclass.result import MulticlassTestResult as MulticlassTestResult
from evenodds.inference.multiclass.splits import build_codes as build_codes
from evenodds.inference.prior import PriorTestResult as PriorTestResult
from evenodds.inference.prior import prior_test as prior_test
from evenodds.inference.results import AsymmetryTestResult as AsymmetryTestResult
from evenodds.inference.wald import Wald as Wald
from evenodds.model.classifier import NoiseAwareLogisticRegression as NoiseAwareLogisticRegression
from evenodds.model.logistic import fit_logistic as fit_logistic
from evenodds.model.losses import margin_losses as margin_losses
from evenodds.model.risk import corrected_loss as corrected_loss
from evenodds.model.risk import minimise_risk as minimise_risk
from evenodds.model.scores import out_of_fold_scores as out_of_fold_scores
from evenodds.noise import (
    ClassConditionalNoise as ClassConditionalNoise,
)
from evenodds.noise import (
    UniformNoise as UniformNoise,
)
from evenodds.planning.audit_size import audit_size as audit_size
from evenodds.planning.expected_data import AnchorVariance as AnchorVariance
from evenodds.planning.line_plan import line_plan as line_plan
from evenodds.planning.plan import sample_size_range as sample_size_range
from evenodds.planning.power import anchors_needed as anchors_needed
from evenodds.planning.power import detectable_asymmetry as detectable_asymmetry
from evenodds.planning.power import power as power
from evenodds.planning.power import sample_size as sample_size
from evenodds.simulation.own_data import data_world as data_world
from evenodds.simulation.rejection import rejection_rate as rejection_rate
from evenodds.simulation.world import World as World
from evenodds.versions import show_versions as show_versions

__version__: str
