//! How locales write numbers and dates, as CLDR has it.

/// The patterns have the letters of CLDR: `y`, `M`, `d`, `H`, `h`, `m`, `s`, `S` and `a`; all else stands for itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Locale {
    pub(crate) name: &'static str,
    /// What stands before a fraction.
    pub(crate) decimal: &'static str,
    /// What may stand between groups of digits.
    pub(crate) groups: &'static [&'static str],
    /// Whether all groups but the last have two digits.
    pub(crate) is_indian: bool,
    /// The fewest digits before the last group.
    pub(crate) min_grouping: &'static [usize],
    pub(crate) minus: &'static [&'static str],
    pub(crate) dates: &'static [&'static str],
    /// Dates with two digits of the year.
    pub(crate) short_dates: &'static [&'static str],
    pub(crate) times: &'static [&'static str],
    /// What may stand between a date and a time.
    pub(crate) joins: &'static [&'static str],
    /// Words for the times before noon, and from noon on.
    pub(crate) noons: &'static [[&'static str; 2]],
}

/// As machines write.
pub(crate) static PLAIN: Locale = Locale {
    name: "plain",
    decimal: ".",
    groups: &[""],
    is_indian: false,
    min_grouping: &[1],
    minus: &["-"],
    dates: &["yyyy-MM-dd"],
    short_dates: &[],
    times: &["HH:mm", "HH:mm:ss", "HH:mm:ss.SSS"],
    joins: &["T", " "],
    noons: &[["AM", "PM"]],
};

/// Points before fractions, groups by commas.
const POINT: Locale = Locale {
    name: "",
    decimal: ".",
    groups: &[","],
    is_indian: false,
    min_grouping: &[1],
    minus: &["-"],
    dates: &["dd/MM/yyyy"],
    short_dates: &["dd/MM/yy"],
    times: &["HH:mm", "HH:mm:ss"],
    joins: &[", ", " "],
    noons: &[["AM", "PM"]],
};

/// Commas before fractions, groups by points.
const COMMA: Locale = Locale {
    decimal: ",",
    groups: &["."],
    ..POINT
};

const SPACES: &[&str] = &["\u{a0}", "\u{202f}", " "];

pub(crate) static LOCALES: [Locale; 18] = [
    Locale {
        name: "en_US",
        dates: &["M/d/yyyy", "MM/dd/yyyy"],
        short_dates: &["M/d/yy"],
        times: &["h:mm a", "h:mm:ss a", "hh:mm:ss a"],
        ..POINT
    },
    Locale {
        name: "en_GB",
        ..POINT
    },
    Locale {
        name: "en_IN",
        is_indian: true,
        dates: &["dd/MM/yyyy", "d/M/yyyy", "dd-MM-yyyy"],
        times: &["h:mm a", "h:mm:ss a"],
        noons: &[["am", "pm"], ["AM", "PM"]],
        ..POINT
    },
    Locale {
        name: "en_CA",
        dates: &["yyyy-MM-dd"],
        short_dates: &[],
        times: &["h:mm a", "h:mm:ss a"],
        noons: &[["a.m.", "p.m."]],
        ..POINT
    },
    Locale {
        name: "de_DE",
        dates: &["dd.MM.yyyy", "d.M.yyyy"],
        short_dates: &["dd.MM.yy"],
        times: &["HH:mm", "HH:mm:ss", "HH:mm:ss,SSS"],
        ..COMMA
    },
    Locale {
        name: "de_CH",
        groups: &["\u{2019}", "'"],
        dates: &["dd.MM.yyyy", "d.M.yyyy"],
        short_dates: &["dd.MM.yy"],
        ..POINT
    },
    Locale {
        name: "fr_FR",
        groups: SPACES,
        joins: &[" "],
        ..COMMA
    },
    Locale {
        name: "es_ES",
        min_grouping: &[2],
        dates: &["d/M/yyyy", "dd/MM/yyyy"],
        short_dates: &["d/M/yy"],
        times: &["H:mm", "H:mm:ss"],
        ..COMMA
    },
    Locale {
        name: "it_IT",
        min_grouping: &[1, 2],
        dates: &["d/M/yyyy", "dd/MM/yyyy"],
        ..COMMA
    },
    Locale {
        name: "sv_SE",
        groups: SPACES,
        minus: &["\u{2212}", "\u{2212}", "-"],
        dates: &["yyyy-MM-dd"],
        short_dates: &[],
        joins: &[" "],
        ..COMMA
    },
    Locale {
        name: "pl_PL",
        groups: SPACES,
        min_grouping: &[2],
        dates: &["d.MM.yyyy", "dd.MM.yyyy"],
        short_dates: &["d.MM.yy"],
        ..COMMA
    },
    Locale {
        name: "pt_BR",
        ..COMMA
    },
    Locale {
        name: "ja_JP",
        dates: &["yyyy/MM/dd", "yyyy/M/d"],
        short_dates: &["yy/MM/dd"],
        times: &["H:mm", "H:mm:ss", "HH:mm:ss"],
        joins: &[" "],
        ..POINT
    },
    Locale {
        name: "nl_NL",
        dates: &["d-M-yyyy", "dd-MM-yyyy"],
        short_dates: &["dd-MM-yy"],
        ..COMMA
    },
    Locale {
        name: "da_DK",
        dates: &["d.M.yyyy", "dd.MM.yyyy"],
        short_dates: &["dd.MM.yy"],
        times: &["HH.mm", "HH.mm.ss"],
        joins: &[" "],
        ..COMMA
    },
    Locale {
        name: "cs_CZ",
        groups: SPACES,
        dates: &["d. M. yyyy"],
        short_dates: &["dd.MM.yy"],
        times: &["H:mm", "H:mm:ss"],
        joins: &[" "],
        ..COMMA
    },
    Locale {
        name: "hu_HU",
        groups: SPACES,
        dates: &["yyyy. MM. dd."],
        short_dates: &[],
        times: &["H:mm", "H:mm:ss"],
        joins: &[" "],
        ..COMMA
    },
    Locale {
        name: "ko_KR",
        dates: &["yyyy. M. d."],
        short_dates: &[],
        joins: &[" "],
        ..POINT
    },
];
