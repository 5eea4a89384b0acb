"""Reports of results: sentences, tables, plots, HTML pages and exports."""
