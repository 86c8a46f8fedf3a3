"""PDFs for tests, made when they are needed."""

from __future__ import annotations

from pathlib import Path

from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas

TOP, LINE = 800, 14


def write_pdf(path: Path, *pages: str, title: str = "", author: str = "") -> Path:
    """Write a PDF with these texts on its pages, the lines of each below one another."""
    canvas = Canvas(str(path))
    canvas.setTitle(title)
    canvas.setAuthor(author)
    for page in pages:
        for number, line in enumerate(page.splitlines()):
            canvas.drawString(40, TOP - LINE * number, line)
        canvas.showPage()
    canvas.save()
    return path


def write_scan(path: Path) -> Path:
    """Write a PDF whose page is a drawing, without a text."""
    canvas = Canvas(str(path))
    canvas.rect(40, 40, 300, 300, fill=1)
    canvas.showPage()
    canvas.save()
    return path


def write_blank(path: Path, n_pages: int) -> Path:
    """Write a PDF of blank pages."""
    writer = PdfWriter()
    for _ in range(n_pages):
        writer.add_blank_page(200, 200)
    writer.write(path)
    return path


def encrypt(path: Path, password: str, algorithm: str = "AES-256") -> Path:
    """Encrypt a PDF with a password for reading; "" for one that anybody may read."""
    writer = PdfWriter(clone_from=PdfReader(path))
    writer.encrypt(password, "the owner's", algorithm=algorithm)
    writer.write(path)
    return path
