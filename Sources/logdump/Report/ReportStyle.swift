/// The style sheet of a report, for light and dark, and for narrow and wide windows.
enum ReportStyle {
  static let sheet = """
    :root {
      color-scheme: light dark;
      --page: #fafaf8; --card: #ffffff; --text: #1d1f23; --muted: #666b73; --line: #e4e5e8;
      --accent: #23638f; --track: #f0f1f3;
      --documents: #2c6e9e; --deleted: #93b7cf; --leaves: #b24a74; --snapshots: #7f5ab3;
      --history: #c28a25; --unknown: #8d7b57; --attachments: #3a8f7b; --others: #94ad5b;
      --dead: #b9bdc4; --framing: #e2e4e8; --unread: #e2a9a4; --damage: #cc2b22;
      --warn: #fbeae8; --good: #2f7d4f;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --page: #15171a; --card: #1c1f23; --text: #e6e7ea; --muted: #9aa0a9; --line: #2e3238;
        --accent: #7db6dc; --track: #262a2f;
        --documents: #4b93c6; --deleted: #33597a; --leaves: #d06f98; --snapshots: #a384d3;
        --history: #d6a64a; --unknown: #a8976f; --attachments: #56ad98; --others: #a9c272;
        --dead: #5d636c; --framing: #363b42; --unread: #7d4642; --damage: #ff6259;
        --warn: #3a2220; --good: #6cc090;
      }
    }
    * { box-sizing: border-box; }
    body {
      margin: 0; background: var(--page); color: var(--text);
      font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
    }
    main, header, footer { max-width: 1120px; margin: 0 auto; padding: 0 24px; }
    header { padding-top: 36px; }
    h1 { font-size: 27px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; overflow-wrap: anywhere; }
    h2 { font-size: 19px; margin: 0 0 4px; letter-spacing: -0.005em; }
    h3 { font-size: 15px; margin: 20px 0 6px; overflow-wrap: anywhere; }
    p { margin: 0 0 12px; }
    .lead, .note, caption, .legend, .axis { color: var(--muted); }
    .lead { overflow-wrap: anywhere; }
    .note, caption, .legend { font-size: 13px; }
    nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 18px 0 0; padding: 0; font-size: 14px; }
    a { color: var(--accent); text-decoration: none; }
    a:hover, a:focus-visible { text-decoration: underline; }
    section {
      background: var(--card); border: 1px solid var(--line); border-radius: 10px;
      padding: 20px 24px; margin: 18px 0;
    }
    dl.tiles {
      display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 1px;
      margin: 20px 0 0; padding: 0; border: 1px solid var(--line); border-radius: 10px;
      overflow: hidden; background: var(--line);
    }
    dl.tiles div { background: var(--card); padding: 12px 16px; }
    dt { color: var(--muted); font-size: 13px; }
    dd { margin: 0; font-size: 22px; line-height: 1.3; font-variant-numeric: tabular-nums; }
    dd small { display: block; font-size: 13px; color: var(--muted); }
    dd.bad { color: var(--damage); } dd.warning { color: var(--leaves); } dd.good { color: var(--good); }
    .scroll { overflow-x: auto; margin: 14px 0 4px; }
    table { border-collapse: collapse; width: 100%; font-size: 14px; }
    caption { text-align: left; padding: 0 0 6px; }
    th { text-align: left; font-weight: 400; }
    thead th { color: var(--muted); font-size: 13px; border-bottom: 1px solid var(--line); white-space: nowrap; }
    th, td { padding: 4px 14px 4px 0; vertical-align: middle; }
    tbody tr + tr > * { border-top: 1px solid var(--line); }
    th:last-child, td:last-child { padding-right: 0; }
    .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
    .chart { width: 45%; min-width: 140px; }
    .small-chart { width: 14%; min-width: 80px; }
    .name { overflow-wrap: anywhere; min-width: 160px; }
    .file, .time { white-space: nowrap; }
    .finding { min-width: 200px; }
    .time { font-variant-numeric: tabular-nums; }
    .name, .file, code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 13px; }
    thead .name, thead .file { font-family: inherit; }
    svg.bar { display: block; width: 100%; height: 12px; background: var(--track); border-radius: 2px; }
    #segments svg.bar { background: none; }
    svg.columns { display: block; width: 100%; height: 150px; border-bottom: 1px solid var(--line); margin-top: 14px; }
    .few { max-width: 560px; }
    svg.tree { display: block; }
    .axis { display: flex; justify-content: space-between; font-size: 13px; padding-top: 4px; font-variant-numeric: tabular-nums; }
    .column:hover { opacity: 0.75; }
    .legend { display: flex; flex-wrap: wrap; gap: 2px 16px; list-style: none; padding: 0; margin: 10px 0 0; }
    .legend i { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 6px; }
    .legend .round i { border-radius: 50%; }
    .documents { fill: var(--documents); background: var(--documents); }
    .deleted { fill: var(--deleted); background: var(--deleted); }
    .leaves { fill: var(--leaves); background: var(--leaves); }
    .snapshots { fill: var(--snapshots); background: var(--snapshots); }
    .history { fill: var(--history); background: var(--history); }
    .unknown { fill: var(--unknown); background: var(--unknown); }
    .attachments { fill: var(--attachments); background: var(--attachments); }
    .others { fill: var(--others); background: var(--others); }
    .dead { fill: var(--dead); background: var(--dead); }
    .framing { fill: var(--framing); background: var(--framing); }
    .unread { fill: var(--unread); background: var(--unread); }
    .damage { fill: var(--damage); background: var(--damage); }
    svg .damage { stroke: var(--damage); stroke-width: 1.5px; vector-effect: non-scaling-stroke; }
    svg text { font-size: 13px; fill: var(--text); paint-order: stroke; stroke: var(--card); stroke-width: 4px; }
    svg text.axis { fill: var(--muted); font-size: 12px; }
    .edge { fill: none; stroke: var(--muted); stroke-width: 1.5; }
    .skipped { stroke-dasharray: 2 5; stroke-linecap: round; }
    .node { stroke-width: 2; fill: var(--muted); stroke: var(--muted); }
    .winner { fill: var(--documents); stroke: var(--documents); }
    .branch { fill: var(--leaves); stroke: var(--leaves); }
    .ancestor { background: var(--muted); }
    .ring { border: 2px solid var(--muted); }
    .gone { fill: var(--card); stroke: var(--muted); }
    .node.hollow { fill: var(--card); }
    .cross { stroke: var(--muted); stroke-width: 1.5; }
    section.alarm { border-color: var(--damage); background: var(--warn); }
    footer { padding-top: 6px; padding-bottom: 40px; }
    @media (max-width: 640px) {
      main, header, footer { padding-left: 14px; padding-right: 14px; }
      section { padding: 16px 14px; }
      h1 { font-size: 22px; }
      dl.tiles { grid-template-columns: 1fr 1fr; }
      dd { font-size: 19px; }
    }
    @media print {
      body { background: none; }
      section { break-inside: avoid; border: 0; padding: 0; }
      nav { display: none; }
    }
    """
}
