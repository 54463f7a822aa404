/* section_devices.c: adds the devices that measured the trials, their clocks, power and temperature
   during the finish, and the run's warnings and sanitizers. */
#include "report/section_builder.h"

void ak_sections_add_warnings(ak_section_builder *b, const ak_report_model *model)
{
    const json_t *list = json_object_get(model->result, "warnings");
    const char *sanitizers = ak_json_text_or_null(model->result, "sanitizers");
    if (sanitizers != NULL) {
        ak_section_begin(b, "Sanitizers");
        ak_section_pair(b, "finalists", sanitizers);
    }
    if (json_array_size(list) == 0) {
        return;
    }
    ak_section_begin(b, "Warnings");
    AK_EACH(one, list) {
        ak_section_pair(b, "warning", json_string_value(one));
    }
}

void ak_sections_add_devices(ak_section_builder *b, const ak_report_model *model)
{
    if (model->device_count == 0 || (model->device_count == 1 && *model->devices[0].detail == 0)) {
        return; /* the overview of the run already names the device */
    }
    ak_section_table(b, "Devices", "device", ">trials", ">ok", ">best ms", ">mean SM MHz", "uuid",
                     NULL);
    if (model->device_count > 1) {
        b->section->note =
            "The devices shared the trials of the search; the finish ran on the run's device.";
    }
    for (size_t i = 0; i < model->device_count; i++) {
        const ak_report_group *device = &model->devices[i];
        ak_section_cell(b, device->name);
        ak_section_cellf(b, "%zu", device->trials);
        ak_section_cellf(b, "%zu", device->ok);
        ak_section_value(b, device->best_ms);
        ak_section_figure(b, "%.0f",
                          device->clocked > 0 ? device->mhz / (double)device->clocked : 0);
        ak_section_cell(b, device->detail);
    }
}

void ak_sections_add_conditions(ak_section_builder *b, const ak_report_model *model)
{
    const json_t *list = json_object_get(model->result, "contestants");
    bool any = false;
    AK_EACH(one, list) {
        any = any || ak_json_number_at(one, "sm_clock_mhz") > 0;
    }
    if (!any) {
        return;
    }
    ak_section_table(b, "Finish: clocks, power and temperature", "candidate", ">SM MHz",
                     ">memory MHz", ">W", ">degrees C", "clock limited by", ">utilisation", NULL);
    b->section->note = "Figures are means of samples while each ran. Utilisation is that of the "
                       "arithmetic units at the clock it ran at.";
    AK_EACH(one, list) {
        const char *name = ak_json_text_or_null(one, "name");
        const char *throttle = ak_json_text_or_null(one, "throttle");
        ak_section_cell(b, ak_or_empty(name));
        ak_section_figure(b, "%.0f", ak_json_number_at(one, "sm_clock_mhz"));
        ak_section_figure(b, "%.0f", ak_json_number_at(one, "memory_clock_mhz"));
        ak_section_figure(b, "%.0f", ak_json_number_at(one, "power_watts"));
        ak_section_figure(b, "%.0f", ak_json_number_at(one, "temperature_celsius"));
        ak_section_cell(b, throttle == NULL ? "-" : throttle);
        ak_section_figure(b, "%.1f %%", ak_json_number_at(one, "utilisation") * 100);
    }
}
