"""A run as a page of HTML."""

from creval.report.html.page import EACH, findings_page, page

__all__ = ["EACH", "findings_page", "page"]
