"""Faults of the device in JavaScript, which its own tests must see in Node."""

from faults.fault import Fault

# (file, right, wrong)
_PLACES = [
    ("device.js", "one.epoch === epoch)) return", "one.epoch < epoch)) return"),
    ("device.js", "if (own.declined || !version?.agreed)", "if (own.declined)"),
    ("device.js", "kept.prints.includes(print)", "false"),
    (
        "file_memory.js",
        "await link(part, this.#path(next));",
        "(await import('node:fs/promises')).rename(part, this.#path(next));",
    ),
    ("collection.js", ".catch(() => false)", ".catch(() => false) || trusted.length"),
    ("collection.js", "if (keys) throw SyntaxError();", ""),
    ("collection.js", "btoa(raw) !== text || ", ""),
    ("collection.js", 'typeof value === "string" ? `${key} ${value}` : key', "key"),
    ("collection.js", "`${key} ${value}` : key", 'value : ""'),
    ("collection.js", "hasInvisible ||= INVISIBLE.test(written);", ""),
    ("collection.js", 'loose.state !== "open" || ', ""),
    ("collection.js", 'must(listed === true, "field", "listed");', ""),
    ("collection.js", "const MARGIN = 1 + 1e-9;", "const MARGIN = 1 + 1e-2;"),
    ("collection.js", "sampler.law.size - count === added", "true"),
    ("collection.js", "pinned.includes(hex(key))", "true"),
    ("collection.js", 'protocol === "https:" || (', 'protocol === "http:" || ('),
    ("device.js", "version >= seen.version", "true"),
    ("device.js", "id === seen.id", "true"),
    ("device.js", "now < latest - found.epochs.seconds ? null :", ""),
    ("device.js", 'found.answers === "once" ||', ""),
    ("device.js", "startOf(other, one.epoch + 1) > from", "false"),
    ("device.js", "fits(answersOf(versionsOf(versions, name)), lifetime)", "true"),
    ("device.js", "fits(answersOf(versions), inAll)", "true"),
    ("device.js", "charge: isKnown ? 0 : charge", "charge"),
    ("device.js", "return kept.last?.fingerprint === fingerprint ?", "return kept.last ?"),
    ("device.js", "if (!found) return;", "if (!found) throw new Error();"),
    ("device.js", '"408", "425", "429"', '"408", "429"'),
    ("device.js", "due.one.due = now + LEASE;", ""),
    ("device.js", "one.due <= now", "true"),
    ("device.js", "+ of.late)", "+ of.late + 60)"),
    ("places.js", "found.values === values", "true"),
    ("places.js", ", sampler.sensitive]", "]"),
    ("places.js", "?.[1] ?? code;", "?.[0] ?? code;"),
    ("device.js", "for (const one of answersOf(state.versions)) settle(one);", "state.versions = [];"),
    ("device.js", "must(this.#memory.lasts ||", "must(true ||"),
    ("device.js", "status, at: Math.floor(clock())", "id, status, at: Math.floor(clock())"),
    ("domain.js", "code * space.size + part", "part * space.size + code"),
    ("domain.js", " && space.size <= LARGEST_WITH_BOTS", ""),
    ("domain.js", "at >= low && at <= high", "at >= low && at < high"),
    ("domain.js", "codes.get(value)", "Object.fromEntries(codes)[value]"),
    ("domain.js", "count(cell(code))", "cell(code)"),
    ("permanent.js", '"print"', '"answer"'),
    ("permanent.js", "little(code, 8)", "little(code, 8).reverse()"),
    ("permanent.js", "person 1\\0", "person 1"),
    ("bytes.js", "number / 256 ** place", "number >> (8 * place)"),
    ("permanent.js", "if (error !== SHORT) throw error;", "throw error;"),
    ("randomness.js", "must(new Set([...probes, last, zero]).size === 4,", "must(true,"),
    (
        "memory.js",
        "if (await this.#kept(this.write(kept, revision))) return done;",
        "this.write(kept, revision); return done;",
    ),
    ("sampler.js", "return coin ? memo : noise;", "return coin ? noise : memo;"),
    ("sending.js", 'redirect: "error"', 'redirect: "follow"'),
]

FAULTS = [
    Fault(
        f"{file}: {right} becomes {wrong or 'nothing'}", f"../../js/{file}", right, wrong, ("tests/js/test_devices.py",)
    )
    for file, right, wrong in _PLACES
]
