"""HTML report of a run."""

from creval.reporting.html.page import SAMPLES_PER_SECTION, output_page, report_page

__all__ = ["SAMPLES_PER_SECTION", "output_page", "report_page"]
