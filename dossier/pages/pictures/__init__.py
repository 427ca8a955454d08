"""Pictures drawn when the site is built: SVG coloured by the style sheet, each with the figures it shows.

A picture shows only what prose could claim: what is excluded, withdrawn, only reported, or a percentile of too few
values is not drawn, and the picture says so.
"""
