"""What the shared cases do not ask: malformed paths, bad bodies, and bodies that someone made to
be slow, whose time must grow with their length."""

import contextlib
import time
import unittest

import leadhost_sdk as sdk

from . import Err
from .test_cases import delivery

LENGTH = 4 * 1024 * 1024
# How a body begins, and what is repeated up to its length.
HOSTILE = {
    "text/xml": [("", "<"), ("<a>", "&"), ("<a>", "<a "), ("<a>", "<b/>"), ("<a ", "b='c' "), ("<a>", "<!")],
    "application/json": [("", "["), ("[" * 127, '"'), ("{" * 200, '\\"'), ('["', "\\ud800")],
    "application/x-www-form-urlencoded": [("", "&"), ("", "a&"), ("a", "["), ("a", "[b]"), ("a=", "%e9x")],
    "multipart/form-data; boundary=x": [("", "\n"), ("", "--x "), ("--x\n", "\n"), ("--x\n", "\n\n--x\n")],
}


class ReadingTest(unittest.TestCase):
    def test_a_malformed_path_is_named_with_what_is_wrong(self):
        for path in ["a.", ".a", "a..b", "a[", "a[x]", 'a["b]', 'a."b', "a[0]b", "[?a]", "a[?b[0]=c]"]:
            with self.assertRaises(ValueError, msg=path) as raised:
                sdk.text({}, path)
            self.assertIn(f"path `{path}`: `", str(raised.exception))

    def test_paths_of_the_mapping_converter(self):
        tree = {"a": [{"b": 'x"]'}, {"b": "y"}], "É": "1", "é.": "2", "x": {"1": "z"}}
        for path, found in [
            ("$.a.b", ['x"]']),
            ("$", []),
            ("a.*.b", ['x"]', "y"]),
            ('["a"][ 1 ].b', ["y"]),
            (r'a[?b="x\"]"].b', ['x"]']),
            ("a[?b= y ].b", ["y"]),
            ("x.1", ["z"]),
            ('"é."', ["2"]),
            ('"É."', []),
            ("x.*[*]", ["z"]),
            ("a.0[1]", []),
        ]:
            self.assertEqual(sdk.texts(tree, path), found, path)

    def test_what_is_not_json_is_refused(self):
        for text in ["{", "[NaN]", '{"a": "\\ud80"}', "[" * 1000, '"' + "[" * 1000]:
            with self.assertRaises(Err, msg=text) as raised:
                sdk.parse(delivery(text))
            self.assertEqual(raised.exception.value.message, "the body is not valid JSON")
        self.assertEqual(sdk.parse(delivery('["' + "[" * 1000 + '"]')), ["[" * 1000])

    def test_a_mistake_in_xml_has_its_place(self):
        with self.assertRaises(Err) as raised:
            sdk.parse(delivery("<a>\n <b></c></a>", "text/xml"))
        message = "the body is not valid XML: a closing tag has no opening one at line 2 column 5"
        self.assertEqual(raised.exception.value.message, message)
        bad = ["<", "<a", "<a>", "</a>", "<a b></a>", "<a b=c/>", '<a b="/>', "<!--", "<!a[", "<?a"]
        for text in [*bad, "<a><![CDATA[", "<a>" * 65, "<a>" + "<b/>" * 200_001]:
            with self.assertRaises(Err, msg=text[:40]):
                sdk.parse(delivery(text, "text/xml"))

    def test_a_multipart_body_may_lack_its_end(self):
        part = 'Content-Disposition: form-data; name="a[b]"'
        kind = "multipart/form-data; boundary=x"
        for body, tree in [
            (f"--x\r\n{part}\r\n\r\n1\r\n--x--", {"a": {"b": "1"}}),
            (f"preamble\n--x \n{part}\n\n1\n--xy\n", {"a": {"b": "1\n--xy"}}),
            ("--x\n\n1\n--x--\n", {"0": "1"}),
            ("--x--", {}),
        ]:
            self.assertEqual(sdk.parse(delivery(body, kind)), tree, body)
        for body in ["", "-- x", f"--x\n{part}{' ' * 9000}\n\n1", "--x\n\n" * 1002]:
            with self.assertRaises(Err, msg=body[:40]):
                sdk.parse(delivery(body, kind))

    def test_hostile_bodies_end_quickly(self):
        cases = [(kind, *case) for kind, group in HOSTILE.items() for case in group]
        for kind, begin, repeated in cases:
            body = (begin + repeated * (LENGTH // len(repeated)))[:LENGTH]
            start = time.process_time()
            with contextlib.suppress(Err):
                sdk.parse(delivery(body, kind))
            self.assertLess(time.process_time() - start, 3, (kind, begin[:9], repeated))

    def test_many_keys_are_searched_quickly(self):
        tree = {f"key{index}": str(index) for index in range(200_000)}
        start = time.process_time()
        self.assertEqual(sdk.text(tree, "KEY199999"), "199999")
        self.assertLess(time.process_time() - start, 1)
